/** One kind of secret that the rules of secretlint do not find. */
export interface SecretPattern {
  /** What a finding is called. */
  readonly rule: string;
  /** Global. A named group `value` is the secret where the match has more than that. */
  readonly pattern: RegExp;
}

/** What may lie between the name of a secret and its value in prose, settings and JSON. */
const GAP = String.raw`["'\`*\s]{0,6}(?::|=>|=)[\s"'\`*]{0,6}`;

/**
 * Token formats as their makers document them. Every quantifier has an upper limit or a character that ends it, so that
 * a long line costs no more than its length. Assignments such as `password = ...` are left out: no rule tells a
 * password from an example, and a note that merely speaks of one would be refused.
 */
export const SECRET_PATTERNS: readonly SecretPattern[] = [
  // Any PEM key, also one that is encrypted, cut off, quoted, or of PGP (which begins with its own header lines).
  {
    rule: 'private-key',
    pattern:
      /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z-]{4,20}: [^\r\n\\]{0,120}|\\[nr]|[\s"'>|,]){1,200}[A-Za-z0-9+/]{16}/g,
  },
  { rule: 'private-key', pattern: /^Private-Lines: \d{1,3}\s{1,2}[A-Za-z0-9+/=]{40}/gm },
  { rule: 'private-key', pattern: /\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b/g },
  // secretlint's own rule for ids finds account numbers and role ids as well, which are no secrets.
  { rule: 'aws', pattern: /\b(?:AKIA|ASIA)(?![A-Z0-9]{9}EXAMPLE)[A-Z0-9]{16}\b/g },
  {
    rule: 'aws',
    pattern: new RegExp(
      `secret[ _-]?access[ _-]?key${GAP}(?!wJalrXUtnFEMI)(?<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])`,
      'gi',
    ),
  },
  { rule: 'azure', pattern: /\b(?:AccountKey|SharedAccessKey)=(?<value>[A-Za-z0-9+/]{43}={1}|[A-Za-z0-9+/]{86}==)/g },
  { rule: 'azure', pattern: /[?&]sig=(?<value>[A-Za-z0-9%+/]{40,80}(?:%3D|=))/gi },
  { rule: 'azure', pattern: /(?<![\w~.-])[A-Za-z0-9_~.]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])/g },
  { rule: 'google', pattern: /(?<![\w-])AIza[\w-]{35}(?![\w-])/g },
  { rule: 'google', pattern: /(?<![\w-])GOCSPX-[\w-]{28}(?![\w-])/g },
  { rule: 'google', pattern: /(?<![\w-])ya29\.[\w-]{30,300}/g },
  { rule: 'anthropic', pattern: /(?<!\w)sk-ant-[a-z]{3,8}\d{2}-[\w-]{80,200}/g },
  // Keys of OpenAI from before and after the marker that secretlint asks for.
  { rule: 'openai', pattern: /(?<![\w-])sk-(?:proj|svcacct|admin)-(?=[\w-]{0,200}\d)[\w-]{40,200}/g },
  { rule: 'openai', pattern: /(?<![\w-])sk-(?=[A-Za-z]{0,47}\d)[A-Za-z0-9]{48}(?!\w)/g },
  { rule: 'openrouter', pattern: /(?<!\w)sk-or-v1-[a-f0-9]{64}(?!\w)/g },
  { rule: 'xai', pattern: /(?<!\w)xai-[A-Za-z0-9]{80}(?!\w)/g },
  { rule: 'stripe', pattern: /(?<![A-Za-z0-9])(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,200}/g },
  { rule: 'stripe', pattern: /(?<![A-Za-z0-9])whsec_[A-Za-z0-9+/]{32,64}/g },
  // The parts of a key may hold dashes, which secretlint's rule does not allow for.
  { rule: 'sendgrid', pattern: /(?<!\w)SG\.[\w-]{16,32}\.[\w-]{32,64}(?![\w-])/g },
  { rule: 'gitlab', pattern: /(?<!\w)gl(?:dt|rt|ft|imt|agent|soat|cbt|ptt|ffct|oas)-[\w-]{20,128}/g },
  { rule: 'slack', pattern: /(?<!\w)xox[cdes]-(?=[\w.-]{0,40}\d)[A-Za-z0-9%-]{24,300}/g },
  { rule: 'npm', pattern: /_authToken\s?=\s?["']?(?<value>[A-Za-z0-9_+/=-]{20,200})/g },
  { rule: 'pypi', pattern: /(?<!\w)pypi-AgE[\w-]{60,300}/g },
  { rule: 'digitalocean', pattern: /(?<!\w)do[opr]_v1_[a-f0-9]{64}(?!\w)/g },
  { rule: 'supabase', pattern: /(?<!\w)(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,64})(?!\w)/g },
  { rule: 'telegram', pattern: /(?<![\w:])\d{8,10}:AA[\w-]{33}(?![\w-])/g },
  { rule: 'discord', pattern: /\bdiscord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/[\w-]{60,90}/g },
  // A signed token, but not the example that everybody copies from jwt.io.
  {
    rule: 'jwt',
    pattern: /(?<![\w-])eyJ[\w-]{10,2000}\.(?!eyJzdWIiOiIxMjM0NTY3ODkwIi)eyJ[\w-]{10,8000}\.[\w-]{20,1000}(?![\w-])/g,
  },
  {
    rule: 'bearer',
    pattern:
      /\bauthorization["'`*\s]{0,4}[:=][\s"'`*]{0,4}bearer\s{1,4}(?=[^\s"'`]{0,200}\d)(?<value>[\w.~+/-]{20,2000})/gi,
  },
];

/** An address with user and password, of any kind, from the colon of `scheme://user:password@host` on. */
export const URL_WITH_PASSWORD =
  /(?<=[a-z0-9]):\/\/(?<user>[^\s:@/"'`<>\\]{0,100}):(?<password>[^\s/"'`<>\\]{1,200})@[^\s/@"'`<>\\]{1,200}/gi;

/** Stands where a secret would in an example. */
const PLACEHOLDER = /x{6}|\*{3}|\.{3}|\u2026|your[-_]|[$#{]\{|^[$%]\w|^[[({].*[\])}]$/i;
/** Passwords that are none, as in the settings of a database on somebody's own machine. */
const NO_PASSWORD =
  /^(?:.{0,3}|(.)\1*|(?:my|your|some|the)?[-_]?(?:pass(?:word|wd)?|pwd|pw|secret|token|key)|change[-_]?me|(?:postgres|mysql|mongo|redis|root|admin|user|username|test|guest|example|dev|development|local)(?:123)?)$/i;

/** Tells whether a text that was found only stands for a token. */
export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
}

/** Tells whether a password in an address is an example's, or no secret: the user's name again, or a word such as "postgres". */
export function isNoPassword(user: string, password: string): boolean {
  return password.toLowerCase() === user.toLowerCase() || NO_PASSWORD.test(password) || PLACEHOLDER.test(password);
}
