import { expect, test } from 'vitest';
import { python } from '../posix/run.js';
import { begin, program } from './agent-work.js';
import { staged } from './stage.js';

const interpreter = python();
const withPython = test.runIf(interpreter !== undefined);

test(
  'a time that is farther away than can be kept is the farthest there is, and the file can still be saved',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    const script = `cd "$1"; echo one >note.md
      touch -d @10000000000000 note.md; stat -c %Y note.md; echo two >note.md; cat note.md
      touch -d @-10000000000000 note.md; stat -c %Y note.md; mkdir d; touch -d @10000000000000 d; stat -c %Y d
      exec 3>>note.md; echo three >&3; touch -d @10000000000000 note.md; exec 3>&-; cat note.md`;
    const last = Math.floor(2 ** 56 / 1e6);
    expect(await stage.sh(script, folder)).toBe(`${last}\ntwo\n${-last - 1}\n${last}\ntwo\nthree\n`);
    expect(await stage.kinds('note.md')).toEqual(['saved', 'saved', 'saved']);
  }),
  70_000,
);

withPython(
  'fallocate(2) is a write: the close of who called it saves, also while a child has the file open too',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    const script = `printf abc >"$1"; exec 3<>"$1"
      ${interpreter} -c 'import os; os.posix_fallocate(3, 0, 8)
if os.fork() == 0:
    os.closerange(0, 3); import time; time.sleep(5); os._exit(0)
os.close(3); os._exit(0)'; exec 3>&-`;
    await stage.sh(script, `${folder}/note.md`);
    // As another session sees it.
    const agent = await stage.agent();
    expect(await program(agent, 'stat -c %s "$1"', `${folder}/note.md`)).toBe('8\n');
    expect(await stage.sh('od -An -c "$1" | tr -d " \\n"', `${folder}/note.md`)).toBe('abc\\0\\0\\0\\0\\0');
  }),
  70_000,
);

test(
  'a file that nobody has closed yet is put aside under a local name: its folder and the quota stay right',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    await stage.sh('mkdir "$1/sub"; echo text >"$1/other.md"', folder);
    const agent = await stage.agent();
    await begin(agent, `${folder}/sub/new.md`, 'begun', 'wx');
    expect((await stage.status()).mounts[0]?.files).toBe(2);
    await stage.sh('cd "$1"; mv new.md new.md~', `${folder}/sub`);
    expect((await stage.status()).mounts[0]).toMatchObject({ files: 1, bytes: 5 });
    expect(await stage.contents('sub/new.md', 'conflict')).toEqual(['begun']);
    expect((await stage.log()).map(({ file }) => file).sort()).toEqual(['other.md', 'sub/new.md']);
    await stage.sh('cd "$1"; rm new.md~; echo text >new.md; rm new.md', `${folder}/sub`);
    expect((await stage.status()).mounts[0]).toMatchObject({ files: 1, bytes: 5 });
  }),
  70_000,
);

/** renameat2(2) with RENAME_EXCHANGE of two names in the folder `$1`. */
const exchange = (a: string, b: string) => `${interpreter} -c 'import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
a, b = (os.path.join(os.fsencode(os.sys.argv[1]), name) for name in (b"${a}", b"${b}"))
if libc.renameat2(-100, a, -100, b, 2) != 0: raise OSError(ctypes.get_errno(), "renameat2")' "$1"`;

withPython(
  'an exchange saves first what its own session has written to both',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    await stage.sh('cd "$1"; echo a >a.md; echo b >b.md', folder);
    const agent = await stage.agent();
    await agent.run((fs, own, dir) => {
      for (const name of ['a', 'b']) {
        own[name] = fs.openSync(`${dir}/${name}.md`, 'w');
        fs.writeSync(own[name] ?? -1, `draft ${name}\n`);
      }
    }, folder);
    await program(agent, exchange('a.md', 'b.md'), folder);
    expect(await stage.sh('cd "$1"; cat a.md b.md', folder)).toBe('draft b\ndraft a\n');
    await agent.run((fs, own) => {
      for (const name of ['a', 'b']) fs.closeSync(own[name] ?? -1);
    });
    expect(await stage.sh('cd "$1"; cat a.md b.md', folder)).toBe('draft b\ndraft a\n');
    expect(await stage.contents('a.md', 'saved')).toEqual(['draft b\n', 'draft a\n', 'a\n']);
    // Whoever exchanged them knows what lies where, and may remove it.
    await program(agent, 'rm "$1/a.md"', folder);
    expect(await stage.sh('ls "$1"', folder)).toBe('b.md\n');
  }),
  70_000,
);

withPython(
  'an exchange of folders takes the histories of the files below along; one with a file leaves that file its own',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    const script = `cd "$1"; mkdir -p a/deep b; echo a1 >a/same.md; echo a2 >a/same.md; echo deep >a/deep/x.md
      echo b1 >b/same.md; echo b2 >b/only.md; echo file >file.md`;
    await stage.sh(script, folder);
    await stage.sh(exchange('a', 'b'), folder);
    expect(await stage.sh('cd "$1"; cat a/same.md a/only.md b/same.md b/deep/x.md', folder)).toBe('b1\nb2\na2\ndeep\n');
    expect(await stage.contents('a/same.md', 'saved')).toEqual(['b1\n']);
    expect(await stage.contents('b/same.md', 'saved')).toEqual(['a2\n', 'a1\n']);
    expect(await stage.contents('b/deep/x.md', 'saved')).toEqual(['deep\n']);
    expect(await stage.contents('a/only.md', 'saved')).toEqual(['b2\n']);
    await stage.sh(exchange('file.md', 'b'), folder);
    expect(await stage.contents('file.md/same.md', 'saved')).toEqual(['a2\n', 'a1\n']);
    expect(await stage.contents('b', 'saved')).toEqual(['file\n']);
    expect(await stage.contents('file.md', 'saved')).toEqual(['file\n']);
  }),
  70_000,
);
