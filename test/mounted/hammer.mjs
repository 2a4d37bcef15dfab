// @ts-check
// Does whatever a program may do to memory, at random, for a time: node hammer.mjs <memory folder> <seed> <milliseconds>.
// Every text it saves is one line that names its length, so that a torn read shows. Errors that a file system gives
// when others change it meanwhile are fine; anything else ends it with status 1.
import fs from 'node:fs';

const [folder = '', start = '1', time = '0'] = process.argv.slice(2);
let seed = Number(start);
/** @param {number} below */
const random = (below) => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
  return (seed >>> 8) % below;
};
const names = ['a.md', 'b.md', 'c.md', 'sub/d.md', 'sub/e.md', 'other/f.md'];
const pick = () => `${folder}/${names[random(names.length)]}`;
const text = () => {
  const filler = 'x'.repeat(random(9000));
  return `${filler.length} ${filler}\n`;
};

/** @param {string} path */
function read(path) {
  const content = fs.readFileSync(path, 'utf8');
  // Appends and writes in the middle are of their own session until they are closed; then they are in all of it.
  const whole =
    content === '' ||
    content
      .split('\n')
      .every((line) => line === '' || /^(\d+) (x*)$/.exec(line)?.[2]?.length === Number(line.split(' ')[0]));
  if (!whole) throw new Error(`torn: ${path} holds ${content.length} bytes, ${JSON.stringify(content.slice(0, 20))}`);
}

const actions = [
  () => read(pick()),
  () => read(pick()),
  () => fs.statSync(pick()),
  () => fs.readdirSync(folder),
  () => fs.writeFileSync(pick(), text()),
  () => fs.appendFileSync(pick(), text()),
  () => {
    const path = pick();
    fs.writeFileSync(`${path}.tmp.${process.pid}.0123456789ab`, text());
    fs.renameSync(`${path}.tmp.${process.pid}.0123456789ab`, path);
  },
  () => fs.renameSync(pick(), pick()),
  () => fs.unlinkSync(pick()),
  () => fs.mkdirSync(`${folder}/${random(2) ? 'sub' : 'other'}`),
  () => fs.rmdirSync(`${folder}/${random(2) ? 'sub' : 'other'}`),
  () => fs.renameSync(`${folder}/sub`, `${folder}/other`),
  () => fs.closeSync(fs.openSync(pick(), 'wx')),
  () => fs.truncateSync(pick(), 0),
  () => fs.utimesSync(pick(), random(1_000_000), random(1_000_000)),
];
const usual = new Set(['ENOENT', 'EEXIST', 'ENOTEMPTY', 'ENOTDIR', 'EISDIR', 'ESTALE', 'EXDEV']);

const end = Date.now() + Number(time);
let done = 0;
while (Date.now() < end) {
  try {
    actions[random(actions.length)]?.();
    done++;
  } catch (error) {
    if (!usual.has(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) throw error;
  }
}
console.log(done);
