import { createCipheriv, createHash, generateKeyPairSync } from 'node:crypto';

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdef`;
const UPPER = LOWER.toUpperCase();
const BASE62 = LOWER + UPPER + DIGITS;
const BASE64 = `${BASE62}+/`;

/** Letters that look random, the same in every run; no file of the project holds anything that looks like a secret. */
function letters(length: number, alphabet: string, seed: string): string {
  let text = '';
  for (let block = 0; text.length < length; block++) {
    for (const byte of createHash('sha256').update(`${seed} ${block}`).digest())
      text += alphabet[byte % alphabet.length];
  }
  return text.slice(0, length);
}

const part = (length: number, alphabet = BASE62, seed = ''): string => letters(length, alphabet, `${length}${seed}`);

function pem(type: 'pkcs1' | 'pkcs8' | 'sec1', passphrase?: string): string {
  const secured = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase };
  if (type === 'sec1')
    return generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type, format: 'pem', ...secured },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    }).privateKey;
  return generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type, format: 'pem', ...secured },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  }).privateKey;
}

function armour(kind: string, header: string, body: string): string {
  const lines = body.match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${kind}-----`, header, ...lines, `-----END ${kind}-----`].join('\n').replace('\n\n\n', '\n\n');
}

function jwt(): string {
  const json = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${json({ alg: 'HS256', typ: 'JWT' })}.${json({ sub: 'somebody', iat: 1700000000 })}.${part(43)}`;
}

/** The bytes of a PGP secret key, as far as its armour shows: noise behind the tag of such a packet. */
function pgpBody(): string {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16, 1), Buffer.alloc(16, 2));
  return Buffer.concat([Buffer.from([0x95, 0x03, 0xc6, 0x04]), cipher.update(Buffer.alloc(900))]).toString('base64');
}

/** A text of some bytes that takes the rules many times as long as others: each word can be matched in thousands of ways. */
export function slowText(bytes: number): string {
  const word = `SG.a.${'_'.repeat(300)}\u00e9 `;
  return word.repeat(bytes / Buffer.byteLength(word));
}

/** What is to be found: how it is called, and a text with it. Texts of several lines begin with the line that is named. */
export interface SecretSample {
  readonly kind: string;
  readonly rule: string;
  readonly text: string;
  /** The part that must never be shown, where the text has more than that. */
  readonly value?: string;
}

const password = `${part(9)}!%4${part(3)}`;
const awsSecret = part(40, BASE64, 'aws');
const azureKey = `${part(86, BASE64)}==`;
const opaque = part(40, `${HEX}`);

export const SAMPLES: readonly SecretSample[] = [
  { kind: 'RSA key (PKCS#1)', rule: 'private-key', text: pem('pkcs1') },
  { kind: 'RSA key (PKCS#8)', rule: 'private-key', text: pem('pkcs8') },
  { kind: 'encrypted RSA key (PKCS#8)', rule: 'private-key', text: pem('pkcs8', 'a passphrase') },
  { kind: 'encrypted RSA key (PKCS#1)', rule: 'private-key', text: pem('pkcs1', 'a passphrase') },
  { kind: 'EC key (SEC1)', rule: 'private-key', text: pem('sec1') },
  {
    kind: 'OpenSSH key',
    rule: 'private-key',
    text: armour(
      'OPENSSH PRIVATE KEY',
      '',
      Buffer.concat([Buffer.from('openssh-key-v1\0'), Buffer.from(part(400))]).toString('base64'),
    ),
  },
  { kind: 'PGP key', rule: 'private-key', text: armour('PGP PRIVATE KEY BLOCK', 'Version: GnuPG v2\n', pgpBody()) },
  {
    kind: 'key of a service account in JSON',
    rule: 'private-key',
    text: JSON.stringify({ private_key: pem('pkcs8') }),
  },
  { kind: 'key that is cut off', rule: 'private-key', text: pem('pkcs8').slice(0, 300) },
  { kind: 'quoted key', rule: 'private-key', text: pem('pkcs8').trim().replaceAll(/^/gm, '> ') },
  { kind: 'key of age', rule: 'private-key', text: `AGE-SECRET-${'KEY'}-1${part(58, UPPER + DIGITS)}` },
  { kind: 'AWS access key', rule: 'aws', text: `AKI${'A'}${part(16, UPPER + DIGITS)}` },
  { kind: 'AWS secret in settings', rule: 'aws', text: `aws_secret_access_key = ${awsSecret}`, value: awsSecret },
  { kind: 'AWS secret in prose', rule: 'aws', text: `The **secret access key**: \`${awsSecret}\``, value: awsSecret },
  { kind: 'GitHub token', rule: 'github', text: `ghp${'_'}${part(36)}` },
  { kind: 'fine-grained GitHub token', rule: 'github', text: `github_pat${'_'}${part(22)}_${part(59)}` },
  { kind: 'GitLab token', rule: 'gitlab', text: `glpat${'-'}${part(20)}` },
  { kind: 'GitLab deploy token', rule: 'gitlab', text: `gldt${'-'}${part(20)}` },
  { kind: 'Slack token', rule: 'slack', text: `xoxb${'-'}${part(12, DIGITS)}-${part(13, DIGITS)}-${part(24)}` },
  {
    kind: 'Slack webhook',
    rule: 'slack',
    text: `https://hooks.slack.com/${'services'}/T${part(8)}/B${part(8)}/${part(24)}`,
  },
  { kind: 'npm token', rule: 'npm', text: `npm${'_'}${part(36)}` },
  { kind: 'npm login', rule: 'npm', text: `//npm.example/:_auth${'Token'}=${opaque}`, value: opaque },
  { kind: 'Anthropic key', rule: 'anthropic', text: `sk-ant-${'api03'}-${part(93)}AA` },
  { kind: 'Anthropic login', rule: 'anthropic', text: `sk-ant-${'oat01'}-${part(93)}AA` },
  { kind: 'OpenAI key', rule: 'openai', text: `sk-${'proj'}-${part(74)}T3Blbk${'FJ'}${part(74, BASE62, 'b')}` },
  { kind: 'older OpenAI key', rule: 'openai', text: `sk${'-'}${part(20)}T3Blbk${'FJ'}${part(20, BASE62, 'b')}` },
  { kind: 'Google API key', rule: 'google', text: `AIz${'a'}${part(35)}` },
  { kind: 'Google client secret', rule: 'google', text: `GOCSP${'X'}-${part(28)}` },
  { kind: 'Stripe key', rule: 'stripe', text: `sk${'_'}live_${part(24)}` },
  { kind: 'SendGrid key', rule: 'sendgrid', text: `SG${'.'}${part(22)}.${part(43)}` },
  {
    kind: 'SendGrid key with dashes',
    rule: 'sendgrid',
    text: `SG${'.'}${part(10)}-${part(11)}.${part(20)}-_${part(21)}`,
  },
  { kind: 'Hugging Face token', rule: 'huggingface', text: `hf${'_'}${part(34, LOWER)}` },
  { kind: 'PyPI token', rule: 'pypi', text: `pypi-${'AgE'}${part(120)}` },
  { kind: 'DigitalOcean token', rule: 'digitalocean', text: `dop_v1${'_'}${part(64, HEX)}` },
  { kind: 'Telegram bot', rule: 'telegram', text: `${part(10, DIGITS)}:${'AA'}${part(33)}` },
  { kind: 'JSON web token', rule: 'jwt', text: jwt() },
  { kind: 'bearer token', rule: 'bearer', text: `curl -H 'Authorization: Bearer ${opaque}'`, value: opaque },
  {
    kind: 'password in an address',
    rule: 'url-password',
    text: `https://deploy:${password}@git.example/x`,
    value: password,
  },
  {
    kind: 'password of PostgreSQL',
    rule: 'url-password',
    text: `postgresql://app:${password}@db:5432/x`,
    value: password,
  },
  {
    kind: 'password of MongoDB',
    rule: 'url-password',
    text: `mongodb+srv://app:${password}@c0.example/x`,
    value: password,
  },
  {
    kind: 'password of Redis',
    rule: 'url-password',
    text: `redis://:${password}@cache.example:6379/0`,
    value: password,
  },
  {
    kind: 'password of MySQL',
    rule: 'url-password',
    text: `jdbc:mysql://app:${password}@db.example/x`,
    value: password,
  },
  {
    kind: 'Azure storage',
    rule: 'azure',
    text: `DefaultEndpointsProtocol=https;AccountKey=${azureKey}`,
    value: azureKey,
  },
  { kind: 'Azure client secret', rule: 'azure', text: `${part(3)}8Q~${part(34)}` },
];

/** Texts that look like secrets and are none. */
export const EXAMPLES: readonly string[] = [
  'Put your key where it says -----BEGIN PRIVATE KEY----- and never commit it.',
  '-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----',
  `https://user:password@host.example/x and postgres${'://'}postgres:postgres@localhost:5432/test`,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder as notes have it
  'redis://:${REDIS_PASSWORD}@cache:6379, https://<user>:<token>@git.example, mongodb://app:$PASS@db/x',
  'mysql://root:root@127.0.0.1/x, amqp://guest:guest@queue/, https://x:***@git.example/y',
  `Set GITHUB_TOKEN=ghp${'_'}${'x'.repeat(36)} and SLACK_TOKEN=xoxb${'-'}your-bot-token`,
  `AWS's own example is AKI${'A'}IOSFODNN7EXAMPLE`,
  'SG.some.name is a class, sk-learn a library, and eyJ how JSON in base64 begins',
  'Authorization: Bearer YOUR_ACCESS_TOKEN_GOES_HERE',
  'password = "see the vault", api_key: str, token: 5e28df337746db4f070c84f7069d365bfd0d72a8',
  'commit 5e28df337746db4f070c84f7069d365bfd0d72a8, sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'git@github.com:owner/name.git, ssh://git@host:22/x, https://host:8443/a@b, mailto://a:b',
];
