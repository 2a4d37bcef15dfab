import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import type { SecretFinding } from './secret-messages.js';
import { isNoPassword, isPlaceholder, SECRET_PATTERNS, URL_WITH_PASSWORD } from './secret-patterns.js';

/**
 * What is used of the interface of secretlint's rules. They are run without secretlint's core, which keeps time marks of
 * every scan for as long as the process lives.
 */
interface Rule {
  readonly meta: { readonly id: string };
  create(context: RuleContext, options: object): { file?(source: RuleSource): unknown };
}
interface RuleContext {
  readonly sharedOptions: object;
  createTranslator(messages: unknown): (id: string) => { message: string; messageId: string };
  report(found: { readonly range: readonly [number, number] }): void;
  ignore(): void;
}
interface RuleSource {
  readonly content: string;
  readonly filePath: string;
  readonly ext: string;
  readonly contentType: 'text';
}

/** Findings that are kept of one file: who reads more than that has seen enough. */
const MOST = 100;
/** What every rule of secretlint is called. */
const PREFIX = '@secretlint/secretlint-rule-';

/** Rules of secretlint that are not used, and why. */
const UNUSED = new Set([
  // Would let a note switch the scan off by a comment in its text.
  'filter-comments',
  // Opens files by their name (.p12), and finds in JSON what `privatekey` finds as well, and with its line.
  'gcp',
]);
const NAMES: Readonly<Record<string, string>> = {
  privatekey: 'private-key',
  basicauth: 'url-password',
  'database-connection-string': 'url-password',
  'hashicorp-vault': 'vault',
};

/** Texts that a rule finds and that are no secret, by the rule's name. */
const TOLERATED: Readonly<Record<string, (text: string) => boolean>> = {
  'private-key': () => false,
  'url-password': isExampleAddress,
  // Words after "xoxb-", as in instructions: every real one has numbers.
  slack: (text) => isPlaceholder(text) || !/\d/.test(text),
  // "SG.some.name": a real one has 69 characters.
  sendgrid: (text) => isPlaceholder(text) || text.length < 40,
};

const used: readonly { readonly name: string; readonly rule: Rule }[] = (rules as readonly Rule[])
  .map((rule) => ({ name: rule.meta.id.replace(PREFIX, ''), rule }))
  .filter(({ name }) => !UNUSED.has(name))
  .map(({ name, rule }) => ({ name: NAMES[name] ?? name, rule }));

/**
 * Likely secrets in a text, in the order of lines, each rule once a line, a hundred at most. What is found depends on
 * the text alone, not on the name of its file. Takes time in proportion to the length of most texts, but rules of
 * others' make are no promise: for use on a thread that can be ended.
 */
export async function findSecrets(text: string): Promise<SecretFinding[]> {
  const found: { readonly rule: string; readonly index: number }[] = [];
  const report = (rule: string, index: number, value: string): void => {
    if (!(TOLERATED[rule] ?? isPlaceholder)(value)) found.push({ rule, index });
  };
  const source: RuleSource = { content: text, filePath: 'note.md', ext: '.md', contentType: 'text' };
  for (const { name, rule } of used) {
    const context: RuleContext = {
      sharedOptions: {},
      // Messages hold what was found: none is made.
      createTranslator: () => (id) => ({ message: id, messageId: id }),
      report: ({ range: [start, end] }) => report(name, start, text.slice(start, end)),
      ignore: () => undefined,
    };
    await rule.create(context, {}).file?.(source);
  }
  for (const { rule, pattern } of SECRET_PATTERNS) {
    for (const { 0: whole, index, groups } of text.matchAll(pattern)) report(rule, index, groups?.['value'] ?? whole);
  }
  // One letter stands for the scheme, which the pattern only looks back at.
  for (const { 0: rest, index } of text.matchAll(URL_WITH_PASSWORD)) report('url-password', index, `x${rest}`);
  return byLine(text, found);
}

function isExampleAddress(address: string): boolean {
  const { user, password } = [...address.matchAll(URL_WITH_PASSWORD)][0]?.groups ?? {};
  return user !== undefined && password !== undefined && isNoPassword(user, password);
}

function byLine(text: string, found: { readonly rule: string; readonly index: number }[]): SecretFinding[] {
  const findings: SecretFinding[] = [];
  const seen = new Set<string>();
  let line = 1;
  let at = 0;
  for (const { rule, index } of found.sort((a, b) => a.index - b.index || (a.rule < b.rule ? -1 : 1))) {
    for (let end = text.indexOf('\n', at); end !== -1 && end < index; end = text.indexOf('\n', at)) {
      line += 1;
      at = end + 1;
    }
    const key = `${line} ${rule}`;
    if (seen.has(key)) continue;
    seen.add(key);
    findings.push({ rule, line });
    if (findings.length === MOST) break;
  }
  return findings;
}
