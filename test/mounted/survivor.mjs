// @ts-check
// A program of a test user that works in a memory folder in one of several ways until it is told to stop by the end of
// its standard input. Every call has to succeed, and everything it reads has to be what it expects; else it exits with
// status 1 and says what happened. At the end it prints one line of JSON.
// Usage: survivor.mjs ROLE FOLDER NAME [PLAIN_FOLDER]
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

const [role = '', folder = '', name = '', plain = ''] = process.argv.slice(2);
const path = `${folder}/${name}`;
/** Lines after which a file begins anew; a multiple of the lines after which it is read. */
const MOST = 4000;
let running = true;
process.stdin.on('end', () => {
  running = false;
});
process.stdin.resume();
process.chdir('/');

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param {unknown} is
 * @param {unknown} expected
 * @param {string} what
 */
function same(is, expected, what) {
  if (is === expected) return;
  const at = [...String(is)].findIndex((char, i) => char !== String(expected)[i]);
  throw new Error(`${what}: ${String(is).length} characters in place of ${String(expected).length}, other from ${at}`);
}

/**
 * @param {string} text
 * @param {number} turn
 */
const until = (text, turn) => Array.from({ length: turn }, (_, i) => `${text} ${i + 1}\n`).join('');

/** @type {Record<string, () => AsyncGenerator<undefined, unknown>>} */
const roles = {
  /** Appends numbered lines, flushed now and then, through a descriptor that stays open for many of them. */
  async *append() {
    let lines = 0;
    let before = 0;
    while (running) {
      const fd = fs.openSync(path, 'a');
      for (let i = 0; i < 40 && running; i++) {
        fs.writeSync(fd, `line ${++lines}\n`);
        if (lines % 7 === 0) fs.fsyncSync(fd);
        yield;
      }
      fs.closeSync(fd);
      if (lines % 400 === 0) {
        same(fs.readFileSync(path, 'utf8'), until('line', lines), 'lines');
        if (lines >= MOST && running) {
          fs.unlinkSync(path);
          before += lines;
          lines = 0;
        }
      }
    }
    same(fs.readFileSync(path, 'utf8'), until('line', lines), 'lines at the end');
    return { lines: before + lines };
  },

  /** Appends through a descriptor that is open from the beginning to the end, and looks at it. */
  async *hold() {
    const fd = fs.openSync(path, 'a+');
    let lines = 0;
    let before = 0;
    while (running) {
      if (lines === MOST) {
        fs.ftruncateSync(fd, 0);
        before += lines;
        lines = 0;
      }
      fs.writeSync(fd, `line ${++lines}\n`);
      if (lines % 50 === 0) {
        const text = Buffer.alloc(fs.fstatSync(fd).size);
        fs.readSync(fd, text, 0, text.length, 0);
        same(text.toString(), until('line', lines), 'held lines');
      }
      yield;
    }
    fs.closeSync(fd);
    same(fs.readFileSync(path, 'utf8'), until('line', lines), 'held lines at the end');
    return { lines: before + lines };
  },

  /** Saves by a temporary file and a rename over, as Claude Code does; says in a plain file what was saved. */
  async *rename() {
    let turn = 0;
    for (; running; turn++) {
      const text = `turn ${turn}\n${'x'.repeat(turn % 3000)}`;
      const temporary = turn % 2 === 0 ? `${path}.tmp.${process.pid}.0123456789ab` : `${path}.next`;
      const fd = fs.openSync(temporary, 'wx');
      fs.writeSync(fd, text);
      fs.fsyncSync(fd);
      fs.closeSync(fd);
      fs.renameSync(temporary, path);
      fs.writeFileSync(`${plain}/${name}.new`, String(turn));
      fs.renameSync(`${plain}/${name}.new`, `${plain}/${name}`);
      same(fs.readFileSync(path, 'utf8'), text, 'what was renamed over');
      yield;
    }
    return { turn: turn - 1 };
  },

  /** Reads what a renamer said it has saved: that, or what came later, is there at once. */
  async *watch() {
    let seen = 0;
    while (running) {
      const [said = 0] = numbers(`${plain}/${name}`);
      const { size } = fs.statSync(path);
      const text = fs.readFileSync(path, 'utf8');
      const [turn = -1] = /^turn (\d+)\n/.exec(text)?.slice(1).map(Number) ?? [];
      if (turn < said || turn < seen) throw new Error(`read turn ${turn} after ${said} was saved and ${seen} seen`);
      same(text, `turn ${turn}\n${'x'.repeat(turn % 3000)}`, 'what is watched');
      if (!sizes(said, turn).has(size)) throw new Error(`size ${size} between turns ${said} and ${turn}`);
      seen = turn;
      yield;
    }
    return { seen };
  },

  /** Looks at an open file that keeps its name: to the kernel it is never a removed one. */
  async *look() {
    const fd = fs.openSync(path, 'a+');
    let looks = 0;
    for (; running; looks++) {
      fs.statSync(path);
      same(fs.readlinkSync(`/proc/self/fd/${fd}`), path, 'the name of an open file');
      yield;
    }
    fs.closeSync(fd);
    return { looks };
  },

  /** Makes folders and files in them, lists them, and removes them again. */
  async *folders() {
    let turn = 0;
    for (; running; turn++) {
      const at = `${path}-${turn}`;
      fs.mkdirSync(at);
      fs.writeFileSync(`${at}/note.md`, `note ${turn}`, { flag: 'wx' });
      fs.renameSync(`${at}/note.md`, `${at}/other.md`);
      same(fs.readdirSync(at).join(), 'other.md', 'names');
      same(fs.readFileSync(`${at}/other.md`, 'utf8'), `note ${turn}`, 'a note');
      fs.renameSync(at, `${at}-moved`);
      fs.unlinkSync(`${at}-moved/other.md`);
      fs.rmdirSync(`${at}-moved`);
      same(fs.existsSync(at), false, 'a removed folder');
      yield;
    }
    return { turn };
  },

  /** Changes a file in place, saving each time, and cuts it. */
  async *edit() {
    let text = 'abcdefghij'.repeat(100);
    fs.writeFileSync(path, text);
    let turn = 0;
    for (; running; turn++) {
      const fd = fs.openSync(path, 'r+');
      const at = (turn * 37) % 900;
      const word = `<${turn}>`;
      fs.writeSync(fd, word, at);
      text = text.slice(0, at) + word + text.slice(at + word.length);
      if (turn % 5 === 0) {
        text = text.slice(0, 950).padEnd(1000, '.');
        fs.ftruncateSync(fd, 950);
        fs.writeSync(fd, '.'.repeat(50), 950);
      }
      fs.closeSync(fd);
      same(fs.readFileSync(path, 'utf8'), text, 'an edited text');
      yield;
    }
    return { turn };
  },

  /** Opens a file once, and goes on reading what it was then while others save it. */
  async *old() {
    const fd = fs.openSync(path, 'r');
    const text = Buffer.alloc(8192);
    const read = () => text.toString('utf8', 0, fs.readSync(fd, text, 0, text.length, 0));
    const first = read();
    while (running) {
      same(read(), first, 'what was opened');
      await sleep(3);
      yield;
    }
    fs.closeSync(fd);
    return {};
  },

  /** Creates with O_EXCL and removes, while open as well. */
  async *names() {
    let turn = 0;
    for (; running; turn++) {
      const fd = fs.openSync(path, 'wx+');
      fs.writeSync(fd, 'open');
      if (turn % 2 === 0) fs.unlinkSync(path);
      const text = Buffer.alloc(4);
      fs.readSync(fd, text, 0, 4, 0);
      same(text.toString(), 'open', 'an open file');
      fs.closeSync(fd);
      if (turn % 2 === 1) fs.unlinkSync(path);
      yield;
    }
    return { turn };
  },

  /** Runs one short program after the other, each a session of its own, that look and save. */
  async *sessions() {
    let turn = 0;
    for (; running; turn++) {
      const text = `program ${turn}\n`;
      const script = 'cat "$1" 2>/dev/null; printf %s "$2" >"$1"; cat "$1"; ls "$3"';
      const { stdout, status, stderr } = spawnSync('setsid', ['sh', '-c', script, 'sh', path, text, folder], {
        encoding: 'utf8',
      });
      if (status !== 0 || !stdout.includes(text)) throw new Error(`a program ended with ${status}: ${stderr}`);
      await sleep(50);
      yield;
    }
    return { turn };
  },

  /** Looks at the file system all the time, and notes how long it had to wait. */
  async *wait() {
    /** @type {[at: number, took: number][]} */
    const waits = [];
    fs.writeFileSync(path, 'here');
    while (running) {
      const begin = performance.now();
      fs.statfsSync(folder);
      const took = performance.now() - begin;
      if (took > 10) waits.push([Date.now() - took, Math.round(took)]);
      await sleep(2);
      yield;
    }
    return { waits };
  },
};

/**
 * Lengths that a watched file can have between two turns.
 * @param {number} from
 * @param {number} to
 */
function sizes(from, to) {
  const all = new Set();
  for (let turn = from; turn <= to; turn++) all.add(`turn ${turn}\n`.length + (turn % 3000));
  return all;
}

/** @param {string} file */
function numbers(file) {
  return fs.existsSync(file) ? [Number(fs.readFileSync(file, 'utf8'))] : [];
}

const work = roles[role]?.();
if (!work) throw new Error(`${role} is no role`);
fs.writeSync(1, 'begun\n');
try {
  let step = await work.next();
  for (; !step.done; step = await work.next()) await new Promise((resolve) => setImmediate(resolve));
  fs.writeSync(1, `${JSON.stringify(step.value)}\n`);
} catch (error) {
  fs.writeSync(1, `${JSON.stringify({ failed: `${role} ${name}: ${/** @type {Error} */ (error).message}` })}\n`);
  process.exitCode = 1;
}
