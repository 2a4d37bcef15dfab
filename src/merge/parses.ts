import { parse as parseToml } from 'smol-toml';
import { Composer, type Document, isScalar, Parser, visit } from 'yaml';
import { hasKeyTwice } from './json-keys.js';

/** A way to tell whether content parses. */
export interface Reader {
  /** Bytes of a side up to which it is asked. It takes less than 0.3 s for that, whatever they hold. */
  readonly limit: number;
  readonly parses: (bytes: Buffer) => boolean;
}

const readers: readonly (readonly [RegExp, number, (text: string) => boolean])[] = [
  [/\.json$/i, 1 << 24, isJson],
  [/\.ya?ml$/i, 1 << 14, isYaml],
  [/\.toml$/i, 1 << 18, isToml],
];

/** The reader for files of this name; nothing for names without a format. */
export function readerFor(path: string): Reader | undefined {
  const [, limit = 0, parses] = readers.find(([name]) => name.test(path)) ?? [];
  return parses && { limit, parses: (bytes) => parses(bytes.toString().replace(/^\ufeff/, '')) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return !hasKeyTwice(text);
  } catch {
    return false;
  }
}

function isToml(text: string): boolean {
  try {
    parseToml(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * The library's own check for keys that are there twice compares each with each, and its errors quote the text for
 * each: both take minutes on hard input. So the steps are taken here, up to the first error.
 */
function isYaml(text: string): boolean {
  // Hundreds of mappings or lists opened on one line, which nobody writes, take a time that grows with the square.
  if (/(?:[-?:][ \t]+){100}/.test(text)) return false;
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false });
  const sound = (document: Document) => document.errors.length === 0 && !hasTwins(document);
  try {
    for (const token of new Parser().parse(text)) {
      if (token.type === 'error') return false;
      for (const document of composer.next(token)) if (!sound(document)) return false;
    }
    for (const document of composer.end()) if (!sound(document)) return false;
    return true;
  } catch {
    return false;
  }
}

function hasTwins(document: Document): boolean {
  let twins = false;
  visit(document, {
    Map(_key, map) {
      const keys = map.items.map(({ key }) => (isScalar(key) ? key.value : key));
      twins ||= new Set(keys).size < keys.length;
      return twins ? visit.BREAK : undefined;
    },
  });
  return twins;
}
