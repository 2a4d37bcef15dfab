import Database from 'better-sqlite3';

/** A place in a text, in UTF-16 units; `to` is behind it. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The places in both texts of a document. */
export interface Spans {
  readonly name: readonly Span[];
  readonly body: readonly Span[];
}

/** What marks a find. Unicode keeps these for the use within programs; in a text they are replaced. */
const [OPEN, CLOSE] = ['\ufdd0', '\ufdd1'];
const MARKS = /[\ufdd0\ufdd1]/g;

/**
 * A full text index of names and texts, in memory alone: nothing of it reaches a file, so that what is purged from the
 * store has no copy in an index.
 */
export class TextIndex {
  readonly #db = new Database(':memory:');
  readonly #insert;
  readonly #matching;
  readonly #marked;

  constructor() {
    this.#db.pragma('temp_store = MEMORY');
    this.#db.exec(`CREATE VIRTUAL TABLE document USING fts5 (name, body, tokenize = 'unicode61 remove_diacritics 2')`);
    this.#insert = this.#db.prepare('INSERT INTO document (rowid, name, body) VALUES (?, ?, ?)');
    this.#matching = this.#db
      .prepare<[string], number>('SELECT rowid FROM document WHERE document MATCH ? ORDER BY rowid')
      .pluck();
    const marked = (column: number): string => `highlight(document, ${column}, '${OPEN}', '${CLOSE}')`;
    // One pass over all documents: with an id for a constraint, the table would look the words up again for each.
    this.#marked = this.#db.prepare<[string, string], { id: number; name: string; body: string }>(
      `SELECT rowid AS id, ${marked(0)} AS name, ${marked(1)} AS body FROM document
       WHERE document MATCH ? AND +rowid IN (SELECT value FROM json_each(?))`,
    );
  }

  /** Adds documents; each gets its place among them as its id. For an index that is empty. */
  fill(documents: readonly { readonly name: string; readonly body: string }[]): void {
    this.#db.transaction(() => {
      for (const [id, { name, body }] of documents.entries())
        this.#insert.run(id, name.replace(MARKS, '\ufffd'), body.replace(MARKS, '\ufffd'));
    })();
  }

  /** The documents that match a query, by id. */
  matching(query: string): number[] {
    return this.#matching.all(query);
  }

  /** Where a query matches, in those of some documents that it does match. */
  spans(ids: readonly number[], query: string): Map<number, Spans> {
    const found = new Map<number, Spans>();
    for (const { id, name, body } of this.#marked.iterate(query, JSON.stringify(ids)))
      found.set(id, { name: markedSpans(name), body: markedSpans(body) });
    return found;
  }

  close(): void {
    this.#db.close();
  }
}

function markedSpans(text: string): Span[] {
  const spans: Span[] = [];
  let marks = 0;
  for (let at = text.indexOf(OPEN); at >= 0; at = text.indexOf(OPEN, at)) {
    const end = text.indexOf(CLOSE, at);
    spans.push({ from: at - marks, to: end - marks - 1 });
    marks += 2;
    at = end;
  }
  return spans;
}
