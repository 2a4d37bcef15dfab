import { spawn } from 'node:child_process';

/** What the types of Node.js 20 leave out. */
interface Groups {
  initgroups(user: string, extraGroup: number): void;
}

/**
 * Started by root: becomes a user with all of that user's groups, and runs a program. The user's processes see nothing of
 * root's but two pipes. Arguments: name, uid, gid, program and its arguments.
 */
function become(): void {
  const [name = '', uid, gid, program = '', ...args] = process.argv.slice(2);
  (process as unknown as Groups).initgroups(name, Number(gid));
  process.setgid?.(Number(gid));
  process.setuid?.(Number(uid));
  process.umask(0o077);
  const child = spawn(program, args, { stdio: 'inherit' });
  child.on('error', () => process.exit(126));
  child.on('exit', (code) => process.exit(code ?? 1));
}

become();
