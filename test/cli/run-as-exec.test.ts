import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shared } from '../mounted/agent.js';
import { listProcesses } from '../support/processes.js';
import { programPath } from '../support/program.js';
import type { RunResult } from '../support/users.js';
import { commandLine, Person, until } from './person.js';
import { Typist } from './terminal.js';

const LONG = 120_000;

let person: Person;

beforeAll(async () => {
  person = await Person.make();
  const counter = shared('run-program.mjs', join(import.meta.dirname, 'run-program.mjs'));
  script('mend', `exec "${process.execPath}" "${programPath()}" "$@"`);
  script('claude', `if [ "$1" = sh ]; then shift; eval "$1"; else exec "${process.execPath}" "${counter}" "$@"; fi`);
  await person.done('mount');
});

afterAll(() => person.remove());

function script(name: string, text: string): void {
  const path = join(person.user.home, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

/** Runs a shell script in which `mend` and `claude` are commands, as the leader of a group of its own. */
function sh(text: string, shell: 'sh' | 'bash' = 'sh'): Promise<RunResult> {
  return person.user.run(['setsid', '--wait', shell, '-c', `PATH="$HOME:$PATH"; ${text}`], {
    cwd: person.repository,
    timeout: 30,
  });
}

/** Process id of the `mend run` of the person. */
function runner(): number {
  const found = listProcesses().filter(
    (one) => one.uid === person.user.uid && !one.zombie && /main\.js\0run\0/.test(commandLine(one.pid)),
  );
  expect(found).toHaveLength(1);
  return found[0]?.pid ?? 0;
}

describe('a signal reaches the program once', () => {
  const counted = 'SIGTERM came 1 times';

  test('of timeout(1), which sends it to mend and to the group', async () => {
    const { stdout } = await sh('timeout 2 mend run claude count SIGTERM');
    expect(stdout).toContain(counted);
  });

  test('sent to the group, by one who is in it and by one who is not', async () => {
    const inside =
      await sh(`trap : TERM; rm -f out; mend run claude count SIGTERM >out & until grep -qs 'it runs' out; do sleep 0.05; done
      kill -TERM 0; wait $!; wait $!; echo status $?; cat out`);
    expect(inside.stdout).toMatch(new RegExp(`status 5[\\s\\S]*${counted}`));
    const outside = await sh(`mkfifo end; (read pid <end; setsid --wait kill -TERM -- -$pid) &
      trap : TERM; rm -f out; mend run claude count SIGTERM >out & until grep -qs 'it runs' out; do sleep 0.05; done
      echo $$ >end; wait $!; wait $!; cat out; rm end`);
    expect(outside.stdout).toContain(counted);
  });

  test.each(['TERM', 'INT', 'HUP', 'USR2'])('SIG%s sent to mend alone, by a script in its group', async (signal) => {
    const { stdout } =
      await sh(`rm -f out; mend run claude count SIG${signal} >out & until grep -qs 'it runs' out; do sleep 0.05; done
      kill -${signal} $!; wait $!; echo status $?; cat out`);
    expect(stdout).toMatch(new RegExp(`status 5[\\s\\S]*SIG${signal} came 1 times`));
  });

  test(
    'SIGINT sent to mend alone in the foreground of a terminal',
    async () => {
      const typist = new Typist(person, 'exec bash --norc --noprofile -i');
      try {
        await typist.type(`PATH="$HOME:$PATH" PS1='> '; echo shell $((40 + 2))\r`, /shell 42/);
        await typist.type('mend run claude count SIGINT; echo status $?\r', /it runs/);
        process.kill(runner(), 'SIGINT');
        await typist.shown(/SIGINT came 1 times[\s\S]*status 5/);
      } finally {
        await typist.end();
      }
    },
    LONG,
  );
});

describe('as if it were started directly', () => {
  /** Runs a shell script with `claude` started directly, and then by mend. */
  async function both(text: (start: string) => string): Promise<[RunResult, RunResult]> {
    return [await sh(text('claude'), 'bash'), await sh(text('mend run claude'), 'bash')];
  }

  test('the program has the open files of whoever starts it, and no other', async () => {
    const [direct, mend] = await both(
      (start) => `printf ab >in; exec 9<>in 200>lock; flock 200
        ${start} sh 'head -c 1 <&9; echo three >&3; cd /proc/self/fd; ls; flock --nonblock 200 && echo held' 3>&1 4<in | cat
        head -c 1 <&9`,
    );
    expect(direct.stdout).toMatch(/^athree\n[\s\S]*\n3\n[\s\S]*held\nb$/);
    expect(mend).toEqual(direct);
  });

  test('both ends of a pipe that lie below those of Node.js are handed on', async () => {
    const make =
      'import os, sys; os.pipe(); [os.set_inheritable(fd, True) for fd in (3, 4)]; os.execvp(*sys.argv[1:2], sys.argv[1:])';
    const [direct, mend] = await both(
      (start) => `exec 3<&-; python3 -c '${make}' ${start} sh 'echo around >&4; read -r word <&3; echo "$word"'`,
    );
    expect(direct.stdout).toBe('around\n');
    expect(mend).toEqual(direct);
  });

  test('arguments and environment are the same, byte by byte', async () => {
    const [direct, mend] = await both(
      (start) =>
        `export ODD=$'\\377' EMPTY= ; ${start} sh 'for one in "$@" "$ODD" "$EMPTY"; do printf "<%s>" "$one"; done | od -c' $'a\\351' '' $'\\355\\240\\200' 'é'`,
    );
    expect(direct.stdout).toContain('351');
    expect(mend).toEqual(direct);
  });

  test('what waits for the end of its output does not wait for mend', async () => {
    expect(
      (await sh(`mend run claude sh 'echo out' | cat; mend run claude sh 'exec >&- 2>&-; sleep 1; exit 4' | cat`))
        .stdout,
    ).toBe('out\n');
    await until(() =>
      listProcesses().every((one) => one.uid !== person.user.uid || !/mend-signals/.test(commandLine(one.pid))),
    );
  });
});
