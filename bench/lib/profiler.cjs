/**
 * Loaded into every thread of a Node.js program by NODE_OPTIONS=--require: samples where it spends its time and
 * writes one .cpuprofile a second into $MEND_BENCH_PROFILE, so that a program that is killed has left them behind.
 */
const { writeFileSync } = require('node:fs');
const { Session } = require('node:inspector');
const path = require('node:path');
const { threadId } = require('node:worker_threads');

const folder = process.env['MEND_BENCH_PROFILE'];
if (folder !== undefined) {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 200 });
  session.post('Profiler.start');
  let number = 0;
  const timer = setInterval(() => {
    // The answer of a session with one's own thread comes before post returns.
    session.post('Profiler.stop', (error, answer) => {
      if (error) return;
      number += 1;
      writeFileSync(
        path.join(folder, `${process.pid}-${threadId}-${number}.cpuprofile`),
        JSON.stringify(answer.profile),
      );
    });
    session.post('Profiler.start');
  }, 1000);
  timer.unref();
}
