import type ChildProcess from 'node:child_process';
import type NodeFs from 'node:fs';
import type NodeNet from 'node:net';
import type { TestUser } from '../support/users.js';

/** What somebody tries to reach. */
export interface Target {
  readonly uid: number;
  readonly gid: number;
  /** The mounted folder, with `note.md` in it. */
  readonly mount: string;
  readonly pid: number;
  readonly store: string;
  readonly socket: string;
  readonly backup: string;
  /** Folder of the records of who is enabled. */
  readonly people: string;
}

interface Use {
  readonly fs: typeof NodeFs;
  readonly net: typeof NodeNet;
  readonly child: typeof ChildProcess;
}

type Attempt = (use: Use, at: Target) => unknown;

/** Every way in, by its line in docs/security.md. They run in a process of whoever tries, and name nothing but arguments. */
export const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  'list the mounted folder': ({ fs }, at) => fs.readdirSync(at.mount),
  'read a note in it': ({ fs }, at) => fs.readFileSync(`${at.mount}/note.md`),
  'write a note in it': ({ fs }, at) => fs.writeFileSync(`${at.mount}/note.md`, 'overwritten'),
  'look at a note (stat)': ({ fs }, at) => fs.statSync(`${at.mount}/note.md`),
  'change the mode of the mounted folder': ({ fs }, at) => fs.chmodSync(at.mount, 0o777),
  "mount a folder of one's own over it (fusermount3)": ({ child }, at) =>
    child.execFileSync('fusermount3', ['-o', 'fsname=other', '--', at.mount], { stdio: 'ignore' }),
  'mount an empty folder over it (mount), and take that off again': ({ child }, at) => {
    child.execFileSync('mount', ['-n', '-t', 'tmpfs', 'none', at.mount], { stdio: 'ignore' });
    child.execFileSync('umount', ['-n', at.mount], { stdio: 'ignore' });
  },
  'read a note through /proc/<pid>/root of the daemon': ({ fs }, at) =>
    fs.readFileSync(`/proc/${at.pid}/root${at.mount}/note.md`),
  'follow /proc/<pid>/cwd of the daemon': ({ fs }, at) => fs.readdirSync(`/proc/${at.pid}/cwd`),
  'list /proc/<pid>/fd of the daemon': ({ fs }, at) => fs.readdirSync(`/proc/${at.pid}/fd`),
  'open the store through /proc/<pid>/fd': ({ fs }, at) => {
    const folder = `/proc/${at.pid}/fd`;
    // Who may not list them can still try each number.
    let refusal: unknown;
    for (let fd = 0; fd < 64; fd++) {
      try {
        if (fs.readlinkSync(`${folder}/${fd}`) === `${at.store}/store.db`)
          return fs.closeSync(fs.openSync(`${folder}/${fd}`, 'r'));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') refusal = error;
      }
    }
    throw refusal;
  },
  'read /proc/<pid>/mem of the daemon': ({ fs }, at) => {
    const [first = ''] = fs.readFileSync(`/proc/${at.pid}/maps`, 'utf8').split('-');
    const fd = fs.openSync(`/proc/${at.pid}/mem`, 'r');
    return fs.readSync(fd, Buffer.alloc(16), 0, 16, Number.parseInt(first, 16));
  },
  'read /proc/<pid>/environ of the daemon': ({ fs }, at) => fs.readFileSync(`/proc/${at.pid}/environ`),
  'read /proc/<pid>/cmdline of the daemon': ({ fs }, at) => {
    if (!fs.readFileSync(`/proc/${at.pid}/cmdline`, 'utf8').includes('serve.js')) throw new Error('another process');
  },
  "read in the kernel's table where the memory is mounted": ({ fs }, at) => {
    if (!fs.readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${at.mount} `)) throw new Error('not there');
  },
  'connect to the control socket': ({ net }, at) =>
    new Promise((resolve, reject) => {
      const socket = net.connect(at.socket, () => resolve(socket.destroy()));
      socket.on('error', reject);
    }),
  'list the folder of the store': ({ fs }, at) => fs.readdirSync(at.store),
  'read the store': ({ fs }, at) => fs.readFileSync(`${at.store}/store.db`),
  'read its log': ({ fs }, at) => fs.readFileSync(`${at.store}/store.db-wal`),
  'open the store for writing': ({ fs }, at) => fs.closeSync(fs.openSync(`${at.store}/store.db`, 'r+')),
  'read a backup beside it': ({ fs }, at) => fs.readFileSync(at.backup),
  'read daemon.log': ({ fs }, at) => fs.readFileSync(`${at.store}/daemon.log`),
  'list run/': ({ fs }, at) => fs.readdirSync(`${at.store}/run`),
  'put a file into the folder of the store': ({ fs }, at) => {
    fs.writeFileSync(`${at.store}/planted`, '');
    fs.rmSync(`${at.store}/planted`);
  },
  'make a folder for a store in /var/lib/mend': ({ fs }, at) => {
    fs.mkdirSync(`${at.store}0`);
    fs.rmdirSync(`${at.store}0`);
  },
  'enable oneself in /var/lib/mend/people': ({ fs }, at) => {
    const file = `${at.people}/${at.uid}0`;
    fs.writeFileSync(file, '');
    fs.rmSync(file);
  },
  'send the daemon a signal': (_, at) => process.kill(at.pid, 'SIGCONT'),
  'become the user, and read a note': ({ child }, at) =>
    child.execFileSync(
      'setpriv',
      [`--reuid=${at.uid}`, `--regid=${at.gid}`, '--clear-groups', 'cat', `${at.mount}/note.md`],
      { stdio: 'ignore' },
    ),
  // The last one: after it there is none.
  'take the mount off': ({ child }, at) =>
    child.execFileSync('fusermount3', ['-u', '-z', '--', at.mount], { stdio: 'ignore' }),
};

/** Runs in a process of its own; names nothing but its arguments. */
async function tryAll(use: Use, attempts: Record<string, Attempt>, at: Target): Promise<Record<string, string>> {
  const results: Record<string, string> = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt(use, at);
      results[name] = 'done';
    } catch (error) {
      const { code, status } = error as NodeJS.ErrnoException & { status?: number };
      results[name] = code ?? (typeof status === 'number' ? 'refused' : String(error));
    }
  }
  return results;
}

/** Makes every attempt as somebody, and tells what came of each. */
export async function attemptAll(user: TestUser, at: Target): Promise<Record<string, string>> {
  const sources = Object.entries(ATTEMPTS).map(([name, work]) => `${JSON.stringify(name)}: ${work.toString()}`);
  const script = `
    const use = { fs: require('node:fs'), net: require('node:net'), child: require('node:child_process') };
    (${tryAll.toString()})(use, { ${sources.join(',')} }, ${JSON.stringify(at)})
      .then((results) => console.log(JSON.stringify(results)));`;
  const { code, stdout, stderr } = await user.run([process.execPath, '-e', script]);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, string>;
}
