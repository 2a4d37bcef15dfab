import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shared } from '../mounted/agent.js';
import { listProcesses } from '../support/processes.js';
import { programPath } from '../support/program.js';
import { Person, until } from './person.js';
import { Typist } from './terminal.js';

const LONG = 120_000;
const CTRL_C = '\x03';
const CTRL_D = '\x04';
const CTRL_Z = '\x1a';

let person: Person;

beforeAll(async () => {
  person = await Person.make();
  const program = shared('run-program.mjs', join(import.meta.dirname, 'run-program.mjs'));
  script('mend', `exec "${process.execPath}" "${programPath()}" "$@"`);
  script(
    'claude',
    `case "$1" in
    sh) exec sh -c "$2";;
    bash) exec bash --norc --noprofile -i;;
    *) exec "${process.execPath}" "${program}" "$@";;
    esac`,
  );
  // So that no test waits for the daemon to start.
  await person.done('mount');
}, LONG);

afterAll(() => person.remove());

function script(name: string, text: string): void {
  const path = join(person.user.home, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

/** A shell of the person in which `mend` and `claude` are commands. */
async function shell(): Promise<Typist> {
  const typist = new Typist(person, 'exec bash --norc --noprofile -i');
  await typist.type(`PATH="$HOME:$PATH" PS1='> '; cd "$HOME/garden"; echo shell $((40 + 2))\r`, /shell 42/);
  return typist;
}

const inShell = (name: string, body: (typist: Typist) => Promise<void>): void =>
  test(
    name,
    async () => {
      const typist = await shell();
      try {
        await body(typist);
      } finally {
        await typist.end();
      }
    },
    LONG,
  );

inShell('the terminal has the modes that it had, and those that the program leaves it', async (typist) => {
  const modes = async (): Promise<string | undefined> =>
    /modes ([0-9a-f]+:\S+)/.exec(await typist.type('echo modes $(stty -g)\r', /modes [0-9a-f]+:\S+/))?.[1];
  const before = await modes();
  await typist.type('mend run claude sh "exit 3"; echo status $?\r', /status 3/);
  expect(await modes()).toBe(before);
  await typist.type('mend run claude raw\r', /it runs/);
  await typist.type('q', /> $/);
  expect(await modes()).toBe(before);
  await typist.type('claude sh "stty -opost"; echo status $?\r', /status 0/);
  const changed = await modes();
  expect(changed).not.toBe(before);
  await typist.type('stty opost\r', /> $/);
  expect(await modes()).toBe(before);
  await typist.type('mend run claude sh "stty -opost"; echo status $?\r', /status 0/);
  expect(await modes()).toBe(changed);
});

inShell('Ctrl-C reaches the program once, and one that dies of it ends what the shell does', async (typist) => {
  await typist.type('mend run claude count SIGINT; echo status $?\r', /it runs/);
  expect(await typist.type(CTRL_C, /status 5/)).toContain('SIGINT came 1 times');
  await typist.type('mend run claude count SIGQUIT; echo status $?\r', /it runs/);
  expect(await typist.type('\x1c', /status 5/)).toContain('SIGQUIT came 1 times');
  await typist.type(`for i in 1 2 3; do mend run claude sh 'echo run $((0 + 1)); exec sleep 600'; done\r`, /run 1/);
  expect(await typist.type(CTRL_C, /> $/)).not.toContain('run 1');
  await typist.type('echo status $?\r', /status 130/);
});

inShell('Ctrl-Z stops the program and mend, fg goes on with both, and input goes where it should', async (typist) => {
  const read = `mend run claude sh 'echo up $((40 + 2)); while read word; do echo "it read $word"; done; exit 4'; echo status $?`;
  await typist.type(`${read}\r`, /up 42/);
  await typist.type(CTRL_Z, /Stopped[\s\S]*> /);
  await typist.type('echo shell $((40 + 2))\r', /shell 42/);
  await typist.type('fg\r', /mend run/);
  await typist.type('leaf\r', /it read leaf/);
  await typist.type(CTRL_Z, /Stopped[\s\S]*> /);
  await typist.type('fg; echo status $?\r', /mend run/);
  await typist.type('moss\r', /it read moss/);
  await typist.type(CTRL_D, /status 4/);
});

inShell('a program that stops itself stops mend, and goes on with it', async (typist) => {
  await typist.type('mend run claude raw; echo status $?\r', /it runs/);
  await typist.type('k', /key k/);
  for (const key of ['l', 'm']) {
    await typist.type(CTRL_Z, /Stopped[\s\S]*> /);
    await typist.type('fg\r', /back again/);
    await typist.type(key, new RegExp(`key ${key}`));
  }
  await typist.type('q', /> $/);
});

inShell('a program that does not stop keeps the terminal', async (typist) => {
  const stubborn = `trap '' TSTP; echo up $((40 + 2)); read word; echo "it read $word"`;
  await typist.type(`mend run claude sh '${stubborn.replaceAll("'", "'\\''")}'; echo status $?\r`, /up 42/);
  await typist.type(CTRL_Z, /\^Z/);
  expect(await typist.type('moss\r', /status 0/)).toMatch(/it read moss/);
});

inShell('the size of the window is told once', async (typist) => {
  await typist.type('mend run claude window; echo status $?\r', /SIGWINCH came 1 times[\s\S]*status 5/);
});

inShell('in the background every signal is passed on, and the end is that of the program', async (typist) => {
  for (const [signal, status] of [
    ['TERM', 143],
    ['HUP', 129],
    ['INT', 130],
    ['USR2', 140],
  ] as const) {
    await typist.type(`mend run claude sh 'echo up $((40 + 2)); exec sleep 600' & echo shell $((40 + 2))\r`, /up 42/);
    await typist.type(`kill -${signal} $!; wait $!; echo status $?\r`, new RegExp(`status ${status}`));
  }
  await typist.type('mend run claude count SIGUSR1 < /dev/null & echo shell $((40 + 2))\r', /it runs/);
  await typist.type('kill -USR1 $!; wait $!; echo status $?\r', /SIGUSR1 came 1 times[\s\S]*status 5/);
});

inShell('a shell with jobs of its own', async (typist) => {
  await typist.type('mend run claude bash; echo status $?\r', /\$ $/);
  await typist.type("PS1='in it> '\r", /in it> $/);
  await typist.type(`sh -c 'echo up $((40 + 2)); exec sleep 600'\r`, /up 42/);
  await typist.type(CTRL_Z, /Stopped[\s\S]*in it> /);
  await typist.type('kill %1; while test -n "$(jobs -p)"; do sleep 0.1; done; echo inner $((40 + 2))\r', /inner 42/);
  await typist.type('exit 6\r', /status 6/);
});

test(
  'a terminal that is closed ends the program',
  async () => {
    const typist = await shell();
    await typist.type('mend run claude raw\r', /it runs/);
    const running = () =>
      listProcesses().filter(({ pid, uid, zombie }) => uid === person.user.uid && !zombie && pid > 1);
    const serving = person.processes();
    expect(running().length).toBeGreaterThan(serving.length);
    await typist.end();
    await until(() => running().every(({ pid }) => person.processes().includes(pid)));
  },
  LONG,
);
