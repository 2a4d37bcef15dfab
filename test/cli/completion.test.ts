import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quoteForBash, readBashLine } from '../../src/cli/completion/bash-words.js';
import { programPath } from '../support/program.js';
import { Person } from './person.js';
import { isInstalled, Typist } from './terminal.js';

const QUOTED = 'it\'s "q" $x `y` \\z.md';
const BREAKS = ' \t\n"\'@><=;|&(:';
let person: Person;

beforeAll(async () => {
  person = await Person.make('my garden');
  await person.done('mount');
  await person.shell(`
    cd "$M"; mkdir sub
    for name in 'my note.md' 'note:one.md' other.md 'sub/a b.md' 'ñandú.md' claude:odd.md gone.md; do echo x > "$name"; done
    echo y > other.md`);
  await person.user.run(['sh', '-euc', 'echo x > "$1/$2"', 'sh', person.memory, QUOTED]);
  await person.done('memory', 'rm', 'gone.md');
  await person.shell('cd; mkdir bin; printf "#!/bin/sh\n" > bin/claude; chmod +x bin/claude');
  const env = { PATH: `${person.user.home}/bin:${process.env['PATH']}` };
  expect(await person.mend(['run', '--session', 'spring', 'claude'], { env })).toMatchObject({ code: 0, stderr: '' });
  await person.shell(`mkdir -p "${person.repository}/memory" "${person.repository}/dir one"`);
});

afterAll(async () => {
  await person.remove();
});

const program = (): string => `'${process.execPath}' '${programPath()}'`;

/** What is typed, with ⇥ for the tabulator, and the words that the command gets. */
const cases: readonly (readonly [typed: string, words: readonly string[]])[] = [
  ['mend mem⇥sh⇥oth⇥', ['memory', 'show', 'other.md']],
  ['mend st⇥', ['status']],
  ['mend completion f⇥', ['completion', 'fish']],
  ['mend mount --harn⇥cl⇥', ['mount', '--harness', 'claude']],
  ['mend mount --harness=cl⇥', ['mount', '--harness=claude']],
  ['mend memory --project ⇥', ['memory', '--project', 'my garden']],
  ['mend memory --project=⇥', ['memory', '--project=my garden']],
  ['mend memory --project my⇥ rm oth⇥', ['memory', '--project', 'my garden', 'rm', 'other.md']],
  ['mend memory show my⇥', ['memory', 'show', 'my note.md']],
  ['mend memory show my\\ n⇥', ['memory', 'show', 'my note.md']],
  ['mend memory show "my n⇥', ['memory', 'show', 'my note.md']],
  ["mend memory show 'my n⇥", ['memory', 'show', 'my note.md']],
  ['mend memory show it⇥', ['memory', 'show', QUOTED]],
  ['mend memory show "it⇥', ['memory', 'show', QUOTED]],
  ["mend memory show 'it⇥", ['memory', 'show', QUOTED]],
  ['mend memory show ñ⇥', ['memory', 'show', 'ñandú.md']],
  ['mend memory show note⇥', ['memory', 'show', 'note:one.md']],
  ['mend memory show note:o⇥', ['memory', 'show', 'note:one.md']],
  ['mend memory show claude:c⇥', ['memory', 'show', 'claude:claude:odd.md']],
  ['mend memory show sub/⇥', ['memory', 'show', 'sub/a b.md']],
  ['mend memory rm other.md my⇥', ['memory', 'rm', 'other.md', 'my note.md']],
  ['mend memory restore go⇥', ['memory', 'restore', 'gone.md']],
  ['mend memory show my\\ note.md --version ⇥', ['memory', 'show', 'my note.md', '--version', '1']],
  ['mend memory show -- oth⇥', ['memory', 'show', '--', 'other.md']],
  ['mend help mou⇥', ['help', 'mount']],
  ['mend help mem⇥sea⇥', ['help', 'memory', 'search']],
  ['mend mount di⇥', ['mount', 'dir one/']],
  ['mend memory import --from=di⇥', ['memory', 'import', '--from=dir one/']],
  ['mend memory export di⇥', ['memory', 'export', 'dir one/']],
  ['mend run cl⇥', ['run', 'claude']],
  ['mend run --session sp⇥cl⇥', ['run', '--session', 'spring', 'claude']],
  ['mend run claude --sess⇥', ['run', 'claude', '--sess']],
  ['mend session show sp⇥', ['session', 'show', 'spring']],
  ['mend project link my⇥', ['project', 'link', 'my garden']],
];

interface Shell {
  name: string;
  /** Starts an interactive shell in which `mend` prints its words, one a line. */
  start: () => string;
}

const shells: readonly Shell[] = [
  {
    name: 'bash',
    start: () => {
      const script = join(person.user.home, 'bashrc');
      writeFileSync(
        script,
        `mend() { if [ "$1" = __complete ]; then ${program()} "$@"; else printf '\\nWORD<%s>' "$@"; printf '\\nEND\\n'; fi; }
source <(${program()} completion bash)
PS1='READY$ '`,
      );
      return `bash --noprofile --rcfile '${script}' -i`;
    },
  },
  {
    name: 'zsh',
    start: () => {
      writeFileSync(
        join(person.user.home, '.zshrc'),
        `mend() { if [[ $1 == __complete ]]; then ${program()} "$@"; else printf '\\nWORD<%s>' "$@"; printf '\\nEND\\n'; fi; }
autoload -Uz compinit && compinit -u
source <(${program()} completion zsh)
PS1='READY$ '`,
      );
      return 'zsh -i';
    },
  },
  {
    name: 'fish',
    start: () => {
      const script = join(person.user.home, 'mend.fish');
      writeFileSync(
        script,
        `function mend
  if test "$argv[1]" = __complete
    ${program()} $argv
  else
    printf '\\nWORD<%s>' $argv; printf '\\nEND\\n'
  end
end
${program()} completion fish | source
function fish_prompt; printf 'READY$ '; end`,
      );
      return `fish --no-config --interactive --init-command 'source ${script}'`;
    },
  },
];

/** Words in one line. Some shells leave out the slash behind a folder. */
function plain(words: readonly string[]): string {
  return words.map((word) => word.replace(/\/$/, '')).join(' | ');
}

describe.each(shells)('$name', ({ name, start }) => {
  test.runIf(isInstalled(name))(
    'completes what is typed',
    async () => {
      const shell = new Typist(person, start());
      try {
        await shell.shown(/READY\$ /);
        const got: string[] = [];
        for (const [typed] of cases) {
          const shown = await shell.type(`${typed.replaceAll('⇥', '\t')}\r`, /END\r.*READY\$ /s);
          got.push(plain([...shown.matchAll(/WORD<(.*)>\r/g)].map(([, word = '']) => word)));
        }
        expect(got).toEqual(cases.map(([, words]) => plain(words)));
      } finally {
        await shell.end();
      }
    },
    180_000,
  );
});

const autoloaded: readonly Shell[] = [
  {
    name: 'zsh',
    start: () => {
      const folder = join(person.user.home, 'functions');
      mkdirSync(folder);
      writeFileSync(join(folder, '_mend'), execFileSync(process.execPath, [programPath(), 'completion', 'zsh']));
      writeFileSync(
        join(person.user.home, '.zshrc'),
        `mend() { if [[ $1 == __complete ]]; then ${program()} "$@"; else printf '\\nWORD<%s>' "$@"; printf '\\nEND\\n'; fi; }
fpath=('${folder}' $fpath)
autoload -Uz compinit && compinit -u
PS1='READY$ '`,
      );
      return 'zsh -i';
    },
  },
];

describe.each(autoloaded)('$name, from a folder of functions,', ({ name, start }) => {
  test.runIf(isInstalled(name))('completes what is typed', async () => {
    const shell = new Typist(person, start());
    try {
      await shell.shown(/READY\$ /);
      // The first call loads the function, and must complete, too.
      for (const [typed, words] of cases.slice(0, 3)) {
        const shown = await shell.type(`${typed.replaceAll('⇥', '\t')}\r`, /END\r.*READY\$ /s);
        expect([...shown.matchAll(/WORD<(.*)>\r/g)].map(([, word]) => word)).toEqual(words);
      }
    } finally {
      await shell.end();
    }
  });
});

describe('candidates', () => {
  const complete = async (...words: string[]): Promise<string[]> => {
    const text = await person.done('__complete', 'zsh', '--', ...words);
    return text
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split('\t')[0] ?? '');
  };

  test('of commands leave out what is hidden', async () => {
    const names = await complete('');
    for (const name of [
      'mount',
      'unmount',
      'status',
      'memory',
      'adopt',
      'project',
      'doctor',
      'daemon',
      'completion',
      'help',
    ])
      expect(names).toContain(name);
    expect(await complete('daemon', '')).not.toContain('run');
    expect(names).not.toContain('__complete');
  });

  test('of options leave out those that are given', async () => {
    expect(await complete('mount', '--')).toEqual(expect.arrayContaining(['--all', '--project', '--help']));
    expect(await complete('mount', '--all', '--')).not.toContain('--all');
  });

  test('of projects stand where a project is named', async () => {
    for (const words of [['rename'], ['link'], ['forget']])
      expect(await complete('project', ...words, '')).toEqual(['my garden']);
    expect(await complete('project', 'rename', 'my garden', '')).toEqual([]);
  });

  test('of versions are those that are kept of the file named', async () => {
    expect(await complete('memory', 'show', 'other.md', '--version', '')).toEqual(['2', '1']);
    expect(await complete('memory', 'diff', 'other.md', '')).toEqual(['2', '1']);
    expect(await complete('memory', 'show', '--version', '')).toEqual([]);
  });

  test('of files are not those that are named already, nor removed ones for rm', async () => {
    expect(await complete('memory', 'rm', 'other.md', '')).not.toContain('other.md');
    expect(await complete('memory', 'rm', '')).not.toContain('gone.md');
    expect(await complete('memory', 'log', '')).toContain('gone.md');
  });

  test('are none behind what nobody knows', async () => {
    for (const words of [
      ['nosuch', ''],
      ['status', ''],
      ['memory', 'show', '--nosuch='],
      ['memory', '--project', 'x', 'show', ''],
    ])
      expect(await complete(...words)).toEqual([]);
  });

  test('work from a folder that is gone, and with settings or a store that cannot be used', async () => {
    const silent = { code: 0, stderr: '' };
    const gone = await person.user.run([
      'sh',
      '-c',
      `mkdir gone; cd gone; rmdir ../gone; ${program()} __complete zsh -- memory show ""`,
    ]);
    expect(gone).toMatchObject({ ...silent, stdout: '' });
    const relative = await person.mend(['__complete', 'zsh', '--', 'memory', '--project', ''], {
      env: { MEND_STORE_DIR: 'x' },
    });
    expect(relative).toMatchObject({ ...silent, stdout: '' });
    expect(await person.mend(['__complete', 'nosuch', '--nosuch'])).toMatchObject(silent);
    expect(await person.mend(['__complete', 'bash'])).toMatchObject(silent);
  });
});

test('completing makes no store and changes none', async () => {
  const other = await Person.make();
  try {
    const before = other.snapshot();
    for (const words of [['memory', 'show', ''], ['memory', '--project', ''], ['']])
      expect(await other.mend(['__complete', 'fish', '--', ...words])).toMatchObject({ code: 0, stderr: '' });
    expect(other.snapshot()).toEqual(before);
    await other.shell('mkdir -p "$M"; echo x > "$M/a.md"');
    await other.done('mount');
    await other.rest();
    const rested = other.snapshot();
    expect(await other.done('__complete', 'fish', '--', 'memory', 'show', '')).toContain('a.md\t2 bytes');
    expect(other.snapshot()).toEqual(rested);
  } finally {
    await other.remove();
  }
});

test('completion without a shell, or for another one, is wrong usage', async () => {
  for (const args of [['completion'], ['completion', 'tcsh']]) {
    const { code, stdout, stderr } = await person.mend(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/"mend completion --help"/);
  }
});

describe('words of a bash line', () => {
  test.each([
    ['mend a b', ['mend', 'a'], 'b', '', 0],
    ['mend a ', ['mend', 'a'], '', '', 0],
    ['mend "a b" c\\ d', ['mend', 'a b'], 'c d', '', 0],
    ["mend 'a\"b' x:y", ['mend', 'a"b'], 'x:y', '', 2],
    ['mend --project=ga', ['mend'], '--project=ga', '', 10],
    ['mend --project="my ga', ['mend'], '--project=my ga', '"', 10],
    ["mend 'it'\\''s x", ['mend'], "it's x", "'", 3],
    ['mend "a\\"b\\c', ['mend'], 'a"b\\c', '"', 0],
  ] as const)('%s', (line, words, current, quote, kept) => {
    const read = readBashLine(line, BREAKS);
    expect({ words: read.words, current: read.current }).toEqual({ words, current });
    expect(read).toMatchObject({ quote, kept });
  });

  test.each(['', '"', "'"] as const)('what is quoted within %j is read as it was', (quote) => {
    for (const text of ['plain.md', 'two words', QUOTED, 'a;b|c&d(e)', '~x', '#x', '*?[x]', 'ñ 🌱', '!x'])
      expect(readBashLine(`mend ${quote}${quoteForBash(text, quote)}`, '').current).toBe(text);
  });
});
