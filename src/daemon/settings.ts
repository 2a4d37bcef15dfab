import { lstatSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { parseDocument } from 'yaml';
import { isSystemError, MendError } from '../errors.js';
import { chosenByName, memoryHarnesses } from '../harness/registry.js';
import { type CodexLimits, DEFAULT_CODEX_LIMITS } from '../import/codex/codex-limits.js';
import { DEFAULT_LIMITS, type Limits } from '../ports/limits.js';

/** What a person may set in `config.yaml` (spec §11.4). */
export interface Settings {
  readonly limits: Limits;
  /** Names of the harnesses that commands are about when none is named; undefined for those that the person uses. */
  readonly harnesses: readonly string[] | undefined;
  /** What is carried with Codex's memory (spec §9). */
  readonly codex: CodexLimits;
  /** Programs that `mend run` starts in the place of those in PATH: absolute paths, by harness. */
  readonly programs: Readonly<Record<string, string>>;
}

/** Largest value that a limit may have: what the store is built for. */
const LIMIT_MAXIMUM = { files: 100_000, bytes: 1024 ** 3, file_bytes: 64 * 1024 ** 2 } as const;

const CODEX_MAXIMUM = { conversations: 1000, conversation_bytes: 1024 ** 3, summary_bytes: 256 * 1024 ** 2 } as const;

/** What holds where no file says anything. */
export const DEFAULT_SETTINGS: Settings = {
  limits: DEFAULT_LIMITS,
  harnesses: undefined,
  codex: DEFAULT_CODEX_LIMITS,
  programs: {},
};

type Rule = (value: unknown, key: string) => string | undefined;

const wholeNumber =
  (most: number, least = 1): Rule =>
  (value, key) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most
      ? undefined
      : `"${key}" must be a whole number from ${least} to ${most}`;

const harnessList: Rule = (value, key) => {
  const good = Array.isArray(value) && value.length > 0 && value.every((name) => chosenByName.includes(String(name)));
  return good ? undefined : `"${key}" must be a list such as [${chosenByName[0]}], of ${chosenByName.join(', ')}`;
};

const absolutePath: Rule = (value, key) =>
  typeof value === 'string' && isAbsolute(value) ? undefined : `"${key}" must be an absolute path of a program`;

/** The schema: every key there is, with what its value must be. */
const schema: Readonly<Record<string, Rule | Readonly<Record<string, Rule>>>> = {
  harnesses: harnessList,
  programs: Object.fromEntries(
    memoryHarnesses.flatMap(({ name, launch }) => (launch.programs.length > 0 ? [[name, absolutePath]] : [])),
  ),
  limits: {
    files: wholeNumber(LIMIT_MAXIMUM.files),
    bytes: wholeNumber(LIMIT_MAXIMUM.bytes),
    file_bytes: wholeNumber(LIMIT_MAXIMUM.file_bytes),
  },
  codex: {
    conversations: wholeNumber(CODEX_MAXIMUM.conversations, 0),
    conversation_bytes: wholeNumber(CODEX_MAXIMUM.conversation_bytes, 0),
    summary_bytes: wholeNumber(CODEX_MAXIMUM.summary_bytes),
  },
};

/** Where the settings are read from: never from inside a repository. */
export function settingsFile(env: NodeJS.ProcessEnv): string {
  const base = env['XDG_CONFIG_HOME'];
  return join(base && isAbsolute(base) ? base : join(env['HOME'] || homedir(), '.config'), 'mend/config.yaml');
}

/**
 * Reads the settings; what the file does not say has its default.
 * @throws {MendError} when the file cannot be read, is not YAML, or has a key or value that there is not.
 */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const file = settingsFile(env);
  const given = parse(file);
  const fault = check(given, schema, '');
  if (fault) throw new MendError(`${file}: ${fault}`);
  const limits = (given['limits'] ?? {}) as { files?: number; bytes?: number; file_bytes?: number };
  const codex = (given['codex'] ?? {}) as {
    conversations?: number;
    conversation_bytes?: number;
    summary_bytes?: number;
  };
  return {
    limits: {
      files: limits.files ?? DEFAULT_LIMITS.files,
      bytes: limits.bytes ?? DEFAULT_LIMITS.bytes,
      fileBytes: limits.file_bytes ?? DEFAULT_LIMITS.fileBytes,
    },
    harnesses: given['harnesses'] as string[] | undefined,
    codex: {
      conversations: codex.conversations ?? DEFAULT_CODEX_LIMITS.conversations,
      conversationBytes: codex.conversation_bytes ?? DEFAULT_CODEX_LIMITS.conversationBytes,
      summaryBytes: codex.summary_bytes ?? DEFAULT_CODEX_LIMITS.summaryBytes,
    },
    programs: (given['programs'] as Record<string, string> | undefined) ?? {},
  };
}

/** The settings, or what they are by themselves where the file cannot be used. */
export function usableSettings(env: NodeJS.ProcessEnv): Settings {
  try {
    return readSettings(env);
  } catch (error) {
    if (error instanceof MendError) return DEFAULT_SETTINGS;
    throw error;
  }
}

function parse(file: string): Record<string, unknown> {
  let text: string;
  try {
    const stat = lstatSync(file, { throwIfNoEntry: false });
    if (!stat) return {};
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new MendError(`${file} cannot be read (${error.code}): make it readable or move it away`, { cause: error });
  }
  const document = parseDocument(text, { uniqueKeys: true });
  const error = document.errors[0];
  if (error)
    throw new MendError(`${file} is not valid YAML (line ${error.linePos?.[0].line ?? 1}): correct it or move it away`);
  const value: unknown = document.toJS() ?? {};
  if (!isRecord(value))
    throw new MendError(`${file} must hold keys and values, such as "limits:": correct it or move it away`);
  return value;
}

/** What is wrong with a mapping, as the rest of a sentence; undefined when nothing is. */
function check(given: Record<string, unknown>, rules: typeof schema, prefix: string): string | undefined {
  for (const [key, value] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (!rule)
      return `there is no setting "${prefix}${key}"; there are ${Object.keys(rules)
        .map((name) => prefix + name)
        .join(', ')}`;
    const fault =
      typeof rule === 'function'
        ? rule(value, `${prefix}${key}`)
        : isRecord(value)
          ? check(value, rule, `${prefix}${key}.`)
          : `"${prefix}${key}" must hold keys and values`;
    if (fault) return fault;
  }
  return undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
