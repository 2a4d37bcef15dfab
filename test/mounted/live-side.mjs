// @ts-check
// One of two programs that take turns, each on its own mount of one tree: node live-side.mjs <memory folder>
// <FIFO to read> <FIFO to write> <0|1: which side> <rounds>. In each round the watcher first looks at everything, so
// that its kernel has it cached, then the other changes something, and then the watcher must see just that. Both know
// what should be there from the same pseudo-random numbers. At the end each prints what it saw wrong as JSON.
import fs from 'node:fs';

const [folder = '', inFifo = '', outFifo = '', which = '', rounds = ''] = process.argv.slice(2);
const side = Number(which);

// The order in which both ends are opened must not make both wait.
const open = { in: () => fs.openSync(inFifo, 'r'), out: () => fs.openSync(outFifo, 'w') };
let [input, output] = [0, 0];
if (side === 0) [output, input] = [open.out(), open.in()];
else [input, output] = [open.in(), open.out()];

const token = Buffer.from('.');
const pass = () => fs.writeSync(output, token);
const take = () => {
  if (fs.readSync(input, token) !== 1) throw new Error('the other side has ended');
};

let seed = 20_240_229;
/** @param {number} below */
const random = (below) => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
  return (seed >>> 8) % below;
};

/** What should be there: the texts of files and the names of folders, by path. @type {Map<string, string | null>} */
const expected = new Map();
const names = ['a.md', 'b.md', 'c.md', 'd.md', 'sub', 'sub/e.md', 'sub/f.md'];
/** @type {Record<string, number>} */
const counts = {};

/** @param {string} name */
const parentIsThere = (name) => !name.includes('/') || expected.get('sub') === null;
const subIsEmpty = () => ![...expected.keys()].some((name) => name.startsWith('sub/'));

/** Draws the next change that is possible now, and says how to make it. @param {number} round */
function nextChange(round) {
  for (;;) {
    const name = names[random(names.length)] ?? '';
    const kind = random(8);
    // The line that all have makes each text as much like the newest one, which its session has just looked at, as like
    // any that it knew before: so it replaces the newest, and nothing is merged.
    const text = `a line\nround ${round} ${'x'.repeat(random(300))}`;
    const path = `${folder}/${name}`;
    const there = expected.has(name);
    if (name === 'sub') {
      if (!there) return change('mkdir', () => fs.mkdirSync(path), [[name, null]]);
      if (subIsEmpty()) return change('rmdir', () => fs.rmdirSync(path), [[name, undefined]]);
      continue;
    }
    if (!parentIsThere(name)) continue;
    if (!there) {
      if (kind < 4) return change('create', () => fs.writeFileSync(path, text, { flag: 'wx' }), [[name, text]]);
      return change('create by rename', () => saveByRename(path, text), [[name, text]]);
    }
    if (kind === 0) return change('unlink', () => fs.unlinkSync(path), [[name, undefined]]);
    if (kind < 3) return change('truncate and write', () => fs.writeFileSync(path, text), [[name, text]]);
    if (kind === 3) return change('write in place', () => writeInPlace(path, text), [[name, text]]);
    if (kind === 4) return change('append', () => fs.appendFileSync(path, '+'), [[name, `${expected.get(name)}+`]]);
    if (kind === 5) return change('rename over by a temporary', () => saveByRename(path, text), [[name, text]]);
    const source = names[random(names.length)] ?? '';
    const moved = expected.get(source);
    if (source === name || typeof moved !== 'string') continue;
    const from = `${folder}/${source}`;
    return change('rename over', () => fs.renameSync(from, path), [
      [source, undefined],
      [name, moved],
    ]);
  }
}

/**
 * @param {string} kind
 * @param {() => void} make
 * @param {[string, string | null | undefined][]} result
 */
function change(kind, make, result) {
  counts[kind] = (counts[kind] ?? 0) + 1;
  return { kind, make, result };
}

/** @param {string} path @param {string} text */
function saveByRename(path, text) {
  const temporary = `${path}.tmp.${process.pid}.0123456789ab`;
  fs.writeFileSync(temporary, text, { flag: 'wx' });
  fs.renameSync(temporary, path);
}

/** @param {string} path @param {string} text */
function writeInPlace(path, text) {
  const fd = fs.openSync(path, 'r+');
  fs.writeSync(fd, text, 0);
  fs.ftruncateSync(fd, text.length);
  fs.closeSync(fd);
}

/** Everything that differs from what should be there, by stat, listing and a fresh open of every name. */
function look() {
  /** @type {string[]} */
  const wrong = [];
  /** @param {string} what @param {unknown} seen @param {unknown} wanted */
  const compare = (what, seen, wanted) => {
    if (JSON.stringify(seen) !== JSON.stringify(wanted)) wrong.push(`${what}: ${JSON.stringify(seen)}`);
  };
  for (const name of names) {
    const wanted = expected.get(name);
    const stats = fs.statSync(`${folder}/${name}`, { throwIfNoEntry: false });
    const size = stats?.isDirectory() ? null : stats?.size;
    compare(`stat ${name}`, size, typeof wanted === 'string' ? wanted.length : wanted);
    if (wanted === null) continue;
    compare(`open ${name}`, readIfThere(`${folder}/${name}`), wanted);
  }
  for (const [dir, prefix] of [
    ['', ''],
    ['/sub', 'sub/'],
  ]) {
    if (dir !== '' && expected.get('sub') !== null) continue;
    const listed = fs.readdirSync(`${folder}${dir}`).sort();
    const wanted = names.filter((name) => expected.has(name) && name.startsWith(prefix ?? ''));
    compare(
      `list ${dir}`,
      listed,
      wanted.map((name) => name.slice(prefix?.length)).filter((name) => !name.includes('/')),
    );
  }
  return wrong;
}

/** @param {string} path */
function readIfThere(path) {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    return code === 'ENOENT' ? undefined : `failed with ${code}`;
  }
}

/** @type {string[]} */
const failures = [];
/** @param {string} when */
function check(when) {
  for (const wrong of look()) failures.push(`side ${side}, ${when}, ${wrong}`);
}

for (let round = 0; round < Number(rounds); round++) {
  const { kind, make, result } = nextChange(round);
  const changes = round % 2 === side;
  if (changes) {
    take();
    make();
  } else {
    check(`before round ${round}`);
    pass();
    take();
  }
  for (const [name, text] of result) {
    if (text === undefined) expected.delete(name);
    else expected.set(name, text);
  }
  if (changes) pass();
  else check(`after ${kind} in round ${round}`);
}
console.log(JSON.stringify({ failed: failures.length, failures: failures.slice(0, 10), counts }));
