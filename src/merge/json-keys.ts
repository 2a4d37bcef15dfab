/**
 * Tells whether an object of a JSON text has one key twice, which `JSON.parse` takes in silence and forgets one value.
 * The text must be valid JSON.
 */
export function hasKeyTwice(json: string): boolean {
  /** The keys of each open object, and nothing for each open array. */
  const open: (Set<string> | undefined)[] = [];
  for (const [token, colon] of json.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (colon !== undefined) {
      const keys = open.at(-1);
      const key: string = JSON.parse(token.slice(0, -colon.length));
      if (keys?.has(key)) return true;
      keys?.add(key);
    }
  }
  return false;
}
