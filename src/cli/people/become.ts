import { spawn } from 'node:child_process';

// Started by root, with a user's name, uid and gid, and a program of Node.js with its arguments: becomes that user for good
// and runs the program. That is a process of its own, since the kernel keeps much of one that has only changed its user from
// that user (proc(5)).

const [name = '', user, group, program = '', ...args] = process.argv.slice(2);
const uid = Number(user);
const gid = Number(group);
if (!(uid > 0 && Number.isInteger(uid) && Number.isInteger(gid)))
  throw new Error('become: a user other than root is wanted');
process.umask(0o077);
(process as NodeJS.Process & { initgroups(user: string, group: number): void }).initgroups(name, gid);
process.setgid?.(gid);
process.setuid?.(uid);
const ids = [process.getuid?.(), process.geteuid?.(), process.getgid?.(), process.getegid?.()];
if (ids.join() !== [uid, uid, gid, gid].join() || canReturn()) throw new Error('become: the user could not be changed');

const child = spawn(process.execPath, [program, ...args], { cwd: '/', stdio: 'inherit' });
child.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});

function canReturn(): boolean {
  try {
    process.setuid?.(0);
    return true;
  } catch {
    return false;
  }
}
