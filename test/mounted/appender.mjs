// @ts-check
// Writes without end and says the number of each write on standard output once it has returned:
//   node appender.mjs append <file>     numbered lines to one file that stays open, one write(2) each
//   node appender.mjs save <folder>     numbered files, each closed or renamed into place
// Ends at the first error; after 20,000 it waits to be ended.
import fs from 'node:fs';

const [what, place = ''] = process.argv.slice(2);

/** @param {number} number */
function save(number) {
  const path = `${place}/${what}-${number % 50}.md`;
  const temporary = number % 2 === 0 ? path : `${path}.tmp.${process.pid}.0123456789ab`;
  fs.writeFileSync(temporary, `save ${number}\n`);
  if (temporary !== path) fs.renameSync(temporary, path);
}

const fd = what === 'append' ? fs.openSync(place, 'a') : -1;
for (let number = 1; number <= 20_000; number++) {
  if (what === 'append') fs.writeSync(fd, `line ${number}\n`);
  else save(number);
  fs.writeSync(1, `${number}\n`);
}
setInterval(() => undefined, 1000);
