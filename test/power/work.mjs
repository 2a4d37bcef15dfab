// @ts-check
// A program of a test user that works in a memory folder, and says in a file of marks what it is about to do, what is
// done, and what was synced. It is recorded as the daemon is, so that the order of marks and of the store's calls is
// known. What marks mean is in marks.ts.
// Usage: work.mjs ROLE NAME FOLDER MARKS TURNS
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';

const [role = '', name = '', folder = '', marks = '', turns = '0'] = process.argv.slice(2);
process.chdir('/');
const log = fs.openSync(marks, 'a');
let step = 0;

/** @param {Record<string, unknown>} mark */
const say = (mark) => fs.writeSync(log, `${JSON.stringify({ by: name, ...mark })}\n`);
/** @param {string} file */
const at = (file) => `${folder}/${file}`;
/** @param {string} text */
const hash = (text) => createHash('sha256').update(text).digest('hex');

/** The text of every file, as it should be. @type {Map<string, string>} */
const texts = new Map();

/**
 * @param {Record<string, string | null>} put texts of files after it, null for one that is gone
 * @param {() => void} work
 */
function change(put, work) {
  step++;
  const hashes = Object.entries(put).map(([file, text]) => [file, text === null ? null : hash(text)]);
  say({ step, put: Object.fromEntries(hashes) });
  work();
  for (const [file, text] of Object.entries(put)) text === null ? texts.delete(file) : texts.set(file, text);
  say({ done: step });
}

/** @param {number} turn */
const textOf = (turn) =>
  `save ${turn} of ${name}\n${`line of ${turn} `.repeat((turn * 37) % (turn % 9 === 0 ? 2000 : 90))}\n`;

/**
 * @param {string} file
 * @param {string | number} flags
 * @param {(fd: number) => void} work
 */
function opened(file, flags, work) {
  const fd = fs.openSync(at(file), flags);
  try {
    work(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** Syncs the folder, which brings all to the disk that was done before. */
function sync() {
  const fd = fs.openSync(folder, 'r');
  fs.fsyncSync(fd);
  fs.closeSync(fd);
  say({ synced: step });
}

/** @type {((turn: number, file: string) => void)[]} */
const deeds = [
  // As Claude Code saves: a temporary file, which is local, flushed and renamed over.
  (turn, file) => {
    const temporary = `${file}.tmp.${process.pid}.${randomBytes(4).toString('hex')}`;
    opened(temporary, 'wx', (fd) => {
      fs.writeSync(fd, textOf(turn));
      fs.fsyncSync(fd);
      // All that was done before is in the same log.
      say({ synced: step });
    });
    change({ [file]: textOf(turn) }, () => fs.renameSync(at(temporary), at(file)));
  },
  (turn, file) => change({ [file]: textOf(turn) }, () => fs.writeFileSync(at(file), textOf(turn))),
  // An append that is flushed before it is closed.
  (turn, file) => {
    const line = `appended ${turn}\n`;
    change({ [file]: `${texts.get(file) ?? ''}${line}` }, () =>
      opened(file, 'a', (fd) => {
        fs.writeSync(fd, line);
        fs.fsyncSync(fd);
      }),
    );
    sync();
  },
  // In place, in several writes.
  (turn, file) => {
    const old = texts.get(file);
    if (old === undefined) return;
    const words = [`<${turn}>`, `(${turn})`].map((word) => word.slice(0, old.length));
    const after = words.reduce((text, word) => word + text.slice(word.length), old);
    change({ [file]: after }, () =>
      opened(file, 'r+', (fd) => {
        for (const word of words) fs.writeSync(fd, word, 0);
      }),
    );
  },
  (_, file) => {
    if (texts.has(file)) change({ [file]: null }, () => fs.unlinkSync(at(file)));
  },
  (turn, file) => {
    const text = texts.get(file);
    if (text === undefined) return;
    change({ [file]: null, [`${name}-moved-${turn % 3}.md`]: text }, () =>
      fs.renameSync(at(file), at(`${name}-moved-${turn % 3}.md`)),
    );
  },
];

/** @type {Record<string, () => void>} */
const roles = {
  /** Saves in all ways, one thing after the other. */
  save() {
    for (let turn = 0; turn < Number(turns); turn++) {
      const deed = deeds[[0, 1, 0, 2, 3, 0, 2, 1, 4, 0, 5][turn % 11] ?? 0];
      deed?.(turn, `${name}-${(turn * 7) % 5}.md`);
      if (turn % 7 === 6) sync();
    }
    sync();
  },

  /** Has a file open all the time, and flushes it now and then. */
  hold() {
    opened(`${name}.md`, 'a', (fd) => {
      for (let line = 1; line <= Number(turns); line++) {
        say({ writes: line, file: `${name}.md` });
        fs.writeSync(fd, `line ${line}\n`);
        if (line % 5 === 0) {
          line % 2 === 0 ? fs.fsyncSync(fd) : fs.fdatasyncSync(fd);
          say({ kept: line, file: `${name}.md` });
        }
      }
    });
  },

  /** The same with O_SYNC or O_DSYNC: what write(2) returned for is kept. */
  direct() {
    const { O_WRONLY, O_CREAT, O_APPEND, O_SYNC, O_DSYNC } = fs.constants;
    let line = 0;
    for (const kind of [O_SYNC, O_DSYNC])
      opened(`${name}.md`, O_WRONLY | O_CREAT | O_APPEND | kind, (fd) => {
        for (let turn = 0; turn < Number(turns) / 2; turn++) {
          say({ writes: ++line, file: `${name}.md` });
          fs.writeSync(fd, `line ${line}\n`);
          say({ kept: line, file: `${name}.md` });
        }
      });
  },
};

const work = roles[role];
if (!work) throw new Error(`${role} is no role`);
work();
fs.writeSync(1, 'done\n');
