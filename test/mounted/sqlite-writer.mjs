// @ts-check
// Adds numbered rows to a SQLite database in WAL mode, beside others that do the same, and says the number of each on
// standard output once its transaction is committed. Stops when its standard input ends, or after so many rows.
// Usage: sqlite-writer.mjs PACKAGE DATABASE NAME [ROWS]; PACKAGE is the folder of better-sqlite3.
import fs from 'node:fs';
import { createRequire } from 'node:module';

const [library = '', file = '', name = '', most = 'Infinity'] = process.argv.slice(2);
const Database = createRequire(import.meta.url)(library);
let running = true;
process.stdin.on('end', () => {
  running = false;
});
process.stdin.resume();

const db = new Database(file, { timeout: 30_000 });
db.pragma('journal_mode = WAL');
db.pragma('mmap_size = 1048576');
db.exec(`CREATE TABLE IF NOT EXISTS line (writer TEXT, number INTEGER, text TEXT, PRIMARY KEY (writer, number));
  CREATE TABLE IF NOT EXISTS total (only INTEGER PRIMARY KEY CHECK (only = 1), value INTEGER);
  INSERT OR IGNORE INTO total VALUES (1, 0);`);
const total = db.prepare('SELECT value FROM total').pluck();
const insert = db.prepare('INSERT INTO line VALUES (?, ?, ?)');
const update = db.prepare('UPDATE total SET value = ?');
const add = db.transaction((/** @type {number} */ number) => {
  // Reads before it writes: what another process added in between would be lost without its lock.
  const before = total.get();
  insert.run(name, number, `${name} ${number} `.repeat(1 + ((number * 37) % 200)));
  update.run(before + 1);
});

let number = db.prepare('SELECT coalesce(max(number), 0) FROM line WHERE writer = ?').pluck().get(name);
const end = number + Number(most);
while (running && number < end) {
  add.immediate(++number);
  fs.writeSync(1, `${number}\n`);
  if (number % 40 === 0) db.pragma('wal_checkpoint(PASSIVE)');
  await new Promise((resolve) => setImmediate(resolve));
}
db.close();
process.stdin.destroy();
