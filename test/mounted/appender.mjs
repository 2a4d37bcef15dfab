// @ts-check
// Appends numbered lines to a file, one write(2) each, and says the number of each once its write has returned.
// Ends at the first error, or after the given number of lines with the file still open, when it waits to be ended.
import fs from 'node:fs';

const [file = '', most = '0'] = process.argv.slice(2);
const fd = fs.openSync(file, 'a');
for (let number = 1; number <= Number(most); number++) {
  fs.writeSync(fd, `line ${number}\n`);
  fs.writeSync(1, `${number}\n`);
}
setInterval(() => undefined, 1000);
