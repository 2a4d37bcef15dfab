import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { python } from '../posix/run.js';
import { shared } from './agent.js';
import { type Stage, staged, until } from './stage.js';

const interpreter = python();
const withPython = test.runIf(interpreter !== undefined);
const MB = 1024 * 1024;

/** Files that a process here may have open, at most: Node.js raises its own limit to this. */
const mostFiles = Number(/^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]);

function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024;
}

/** Runs one of the scripts of `hostile.py` on a folder as the user, and gives back what it says in JSON. */
async function run<T>(stage: Stage, what: string, folder: string): Promise<T> {
  const script = shared('hostile.py', join(import.meta.dirname, 'hostile.py'));
  return JSON.parse(await stage.sh('"$1" "$2" "$3" "$4"', interpreter ?? '', script, what, folder)) as T;
}

withPython(
  'names of every byte, long names and long paths: what is UTF-8 can be a name, anything else is refused',
  staged(120, async (stage) => {
    const folder = await stage.mount();
    const { alone, within, listed, long } = await run<{
      alone: Record<string, string>;
      within: Record<string, string>;
      listed: number;
      long: Record<string, string>;
    }>(stage, 'names', folder);
    for (let byte = 1; byte < 256; byte++) {
      if (byte === 0x2f) continue;
      const said = byte < 0x80 ? 'ok' : 'EINVAL';
      expect([byte, within[byte]]).toEqual([byte, said]);
      expect([byte, alone[byte]]).toEqual([byte, byte === 0x2e ? 'EISDIR' : said]);
    }
    expect(listed).toBe(126 + 125);
    expect(long).toEqual({
      '255 bytes': 'ok',
      '256 bytes': 'ENAMETOOLONG',
      '255 bytes of two-byte letters and one': 'ok',
      '128 two-byte letters': 'ENAMETOOLONG',
      'a path of 4095 bytes': 'ok',
      'a path of 4096 bytes': 'ENAMETOOLONG',
      'level 16': 'ok',
      'level 17': 'ENAMETOOLONG',
    });
    expect((await stage.status()).mounts).toHaveLength(1);
  }),
  180_000,
);

withPython(
  'offsets and lengths up to the last one: the right errno, no file changed, and no memory taken',
  staged(120, async (stage) => {
    const folder = await stage.mount();
    await stage.sh('echo text >"$1/note.md"', folder);
    const { pid } = await stage.status();
    const before = memoryOf(pid ?? 0);
    const said = await run<Record<string, Record<string, string>>>(stage, 'offsets', folder);
    for (const [offset, { pread, lseek, pwrite, ftruncate, truncate, fallocate }] of Object.entries(said)) {
      // The kernel refuses by itself what goes beyond the last offset there is.
      const beyond = BigInt(offset) >= 2n ** 63n - 1n ? /^E(FBIG|INVAL|OVERFLOW)$/ : /^EFBIG$/;
      expect([offset, pread], offset).toEqual([offset, "b''"]);
      expect([offset, lseek], offset).toEqual([offset, offset]);
      for (const code of [pwrite, ftruncate, truncate, fallocate]) expect(code, offset).toMatch(beyond);
    }
    expect(Object.keys(said)).toHaveLength(6);
    expect(memoryOf(pid ?? 0) - before).toBeLessThan(60 * MB);
    expect(await stage.sh('cat "$1/note.md"', folder)).toBe('text\n');
    expect(await stage.kinds('note.md')).toEqual(['saved']);
    const copies = await run<Record<string, boolean>>(stage, 'copies', folder);
    expect(copies).toEqual({ copy_file_range: true, sendfile: true, splice: true });
  }),
  180_000,
);

withPython(
  '200 processes at once, each a session of its own, that append, create, rename, list and remove: all of it is right',
  staged(340, async (stage) => {
    const folder = await stage.mount();
    const results = join(stage.user.home, 'results');
    await stage.sh('mkdir "$1"; : >"$2/shared.md"', results, folder);
    const script = `i=$1; m=$2; r=$3; set -e
      for n in 1 2 3; do echo "line $i.$n" >>"$m/shared.md"; done
      echo "own $i" >"$m/own-$i.md"; test "$(cat "$m/own-$i.md")" = "own $i"
      mv "$m/own-$i.md" "$m/moved-$i.md"; ls "$m" | grep -qx "moved-$i.md"
      mkdir "$m/dir-$i"; echo x >"$m/dir-$i/x.md"; rm "$m/dir-$i/x.md"; rmdir "$m/dir-$i"
      test $((i % 2)) = 0 || rm "$m/moved-$i.md"
      echo done >"$r/$i"`;
    const all = `for i in $(seq 200); do setsid sh -c "$1" sh $i "$2" "$3" & done; wait; ls "$3" | wc -l`;
    const { stdout, stderr } = await stage.user.run(['sh', '-c', all, 'sh', script, folder, results], { timeout: 150 });
    expect([stdout.trim(), stderr]).toEqual(['200', '']);
    const lines = (await stage.sh('cat "$1/shared.md"', folder)).trim().split('\n').sort();
    const expected = Array.from({ length: 200 }, (_, index) => [1, 2, 3].map((n) => `line ${index + 1}.${n}`)).flat();
    expect(lines).toEqual(expected.sort());
    expect(await stage.sh('ls "$1" | grep -c "^moved-"; ls "$1" | wc -l', folder)).toBe('100\n101\n');
    expect((await stage.status()).mounts[0]).toMatchObject({ files: 101 });
  }),
  400_000,
);

test.runIf(mostFiles > 10_100)(
  'a client with 10,000 files open is killed: its writes are kept, and the daemon gives back what it took',
  staged(300, async (stage) => {
    const folder = await stage.mount();
    await stage.sh('cd "$1"; for i in $(seq 0 499); do echo "head $i" >$i.md; done', folder);
    const { pid } = await stage.status();
    const daemon = pid ?? 0;
    const descriptors = () => readdirSync(`/proc/${daemon}/fd`).length;
    const [before, had] = [memoryOf(daemon), descriptors()];
    const agent = await stage.agent();
    await agent.run((fs, own, dir) => {
      for (let index = 0; index < 9500; index++) own[`r${index}`] = fs.openSync(`${dir}/${index % 500}.md`, 'r');
      for (let index = 0; index < 500; index++) {
        own[`w${index}`] = fs.openSync(`${dir}/${index}.md`, 'r+');
        fs.writeSync(own[`w${index}`] ?? -1, `kept ${index}\n`, 0);
      }
    }, folder);
    expect(await agent.run((fs, own) => fs.readFileSync(own['r9499'] ?? -1, 'utf8'))).toBe('kept 499\n');
    expect(await stage.sh('cat "$1/3.md"', folder)).toBe('head 3\n');
    expect(descriptors()).toBeLessThan(had + 20);
    expect(memoryOf(daemon) - before).toBeLessThan(150 * MB);
    await agent.kill('SIGKILL');
    await until(async () => (await stage.status()).sessions.length === 0, 'the handles to be let go', 30_000);
    expect(await stage.sh('cat "$1"/*.md | grep -c "^head "', folder)).toBe('500\n');
    const kept = (await stage.log()).filter(({ kind }) => kind === 'interrupted').map(({ file }) => file);
    expect(kept.length).toBe(500);
    expect(await stage.contents('77.md', 'interrupted')).toEqual(['kept 77\n']);
    expect(descriptors()).toBeLessThan(had + 20);
    // It can all be done again, and costs no more.
    const peak = memoryOf(daemon);
    const second = await stage.agent();
    await second.run((fs, own, dir) => {
      for (let index = 0; index < 9900; index++) own[`r${index}`] = fs.openSync(`${dir}/${index % 500}.md`, 'r');
    }, folder);
    await second.kill('SIGKILL');
    await until(async () => (await stage.status()).sessions.length === 0, 'the handles to be let go', 30_000);
    expect(memoryOf(daemon) - peak).toBeLessThan(40 * MB);
  }),
  360_000,
);
