import { createHash } from 'node:crypto';

/** Bytes that do not compress, the same in every run. */
function noise(seed: string, length: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < length; at += 32) parts.push(createHash('sha256').update(`${seed} ${at}`).digest());
  return Buffer.concat(parts).subarray(0, length);
}

function change(path: string, bytes: Buffer, mode = '100644'): Buffer {
  return Buffer.concat([Buffer.from(`M ${mode} inline ${path}\ndata ${bytes.length}\n`), bytes, Buffer.from('\n')]);
}

/** One commit of `main` as `git fast-import` reads it. */
function commit(number: number, changes: readonly Buffer[]): Buffer {
  const who = `Ada <ada@example.org> ${1_600_000_000 + number} +0000`;
  const message = `Commit ${number}\n`;
  const head = `commit refs/heads/main\ncommitter ${who}\ndata ${message.length}\n${message}`;
  return Buffer.concat([Buffer.from(head), ...changes, Buffer.from('\n')]);
}

/** A history of forty commits, for `git fast-import`: notes, some in folders, and bytes that are no text. */
export function gitHistory(): Buffer {
  const text = (file: number, until: number) =>
    Array.from({ length: until }, (_, line) => `note ${file}, line ${line + 1}\n`).join('');
  const commits = Array.from({ length: 40 }, (_, number) => {
    const changes = [1, 2, 3, 4].map((file) => change(`note-${file}.md`, Buffer.from(text(file, number + file))));
    changes.push(change(`sub/folder/note-${number}.md`, Buffer.from(text(number, 30))));
    if (number % 8 === 0) changes.push(change('sub/ünïcödé.bin', noise(String(number), 150_000)));
    return commit(number, changes);
  });
  return Buffer.concat(commits);
}

/** One commit with a program and a symbolic link, for `git fast-import`. */
export function gitModes(): Buffer {
  return commit(1, [
    change('run.sh', Buffer.from('#!/bin/sh\necho ran\n'), '100755'),
    change('latest', Buffer.from('run.sh'), '120000'),
  ]);
}
