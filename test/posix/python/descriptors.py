"""Copies of descriptors: dup, fork, and the order in which they are closed."""

import os
import subprocess
import sys

from .registry import case, equal, get, get_from, in_child, opened, put, refuses


@case('a dup shares the position; either one closes first')
def duplicate(d):
    for first in (0, 1):
        path = put(d, f'{first}.md', b'')
        fds = [os.open(path, os.O_RDWR)]
        fds.append(os.dup(fds[0]))
        os.write(fds[0], b'one ')
        os.write(fds[1], b'two ')
        os.close(fds[first])
        equal(get(path), b'one two ')
        os.write(fds[1 - first], b'three')
        equal(get_from(fds[1 - first]), b'one two three')
        os.close(fds[1 - first])
        equal(get(path), b'one two three')


@case('dup2 over a descriptor that wrote closes it and loses nothing')
def duplicate_over(d):
    path = put(d, 'a.md', b'')
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, b'written')
    other = os.open(put(d, 'b.md', b'other'), os.O_RDONLY)
    os.dup2(other, fd)
    equal(get_from(fd), b'other')
    os.close(fd)
    os.close(other)
    equal(get(path), b'written')


@case('a child writes through an inherited descriptor and the parent goes on behind it')
def inherited(d):
    path = put(d, 'a.md', b'')
    with opened(path, os.O_RDWR) as fd:
        os.write(fd, b'parent ')

        def child():
            os.write(fd, b'child ')
            os.close(fd)

        in_child(child)
        equal(os.lseek(fd, 0, os.SEEK_CUR), 13)
        os.write(fd, b'parent again')
        equal(get_from(fd), b'parent child parent again')
    equal(get(path), b'parent child parent again')


@case('a child that only closes what it inherited disturbs nothing')
def inherited_closed(d):
    path = put(d, 'a.md', b'old')
    with opened(path, os.O_RDWR | os.O_TRUNC) as fd:
        os.write(fd, b'half')
        in_child(lambda: os.close(fd))
        subprocess.run([sys.executable, '-c', ''], check=True)
        equal(get(path), b'half')
        os.write(fd, b' and whole')
    equal(get(path), b'half and whole')


@case('a child outlives the parent\'s close and writes the end')
def child_last(d):
    path = put(d, 'a.md', b'')
    ready, go = os.pipe()
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, b'parent ')
    pid = os.fork()
    if pid == 0:
        os.close(go)
        os.read(ready, 1)
        os.write(fd, b'child')
        os._exit(0)
    os.close(fd)
    os.close(go)
    os.close(ready)
    equal(os.waitpid(pid, 0)[1], 0)
    equal(get(path), b'parent child')


@case('a program started by the writer reads what is written so far')
def program_reads(d):
    path = put(d, 'a.md', b'old')
    with opened(path, os.O_WRONLY | os.O_TRUNC) as fd:
        os.write(fd, b'draft')
        equal(subprocess.run(['cat', path], check=True, capture_output=True).stdout, b'draft')
        equal(os.stat(path).st_size, 5)


@case('a program gets the file as its standard output and as its standard input')
def standard_streams(d):
    path = f'{d}/a.md'
    with opened(path, os.O_CREAT | os.O_WRONLY) as fd:
        os.write(fd, b'head\n')
        subprocess.run(['echo', 'line'], check=True, stdout=fd)
        os.write(fd, b'tail\n')
    equal(get(path), b'head\nline\ntail\n')
    with opened(path, os.O_RDONLY) as fd:
        equal(subprocess.run(['cat'], check=True, stdin=fd, capture_output=True).stdout, b'head\nline\ntail\n')


@case('a process that exits without a close has closed')
def exit_closes(d):
    path = put(d, 'a.md', b'old')

    def child():
        fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
        os.write(fd, b'new')

    in_child(child)
    equal(get(path), b'new')


@case('a descriptor sent over a socket still reads and writes')
def sent(d):
    import socket

    path = put(d, 'a.md', b'text')
    one, two = socket.socketpair()
    with one, two:
        with opened(path, os.O_RDWR) as fd:
            socket.send_fds(one, [b'x'], [fd])
        _, fds, _, _ = socket.recv_fds(two, 1, 1)
        os.write(fds[0], b'T')
        equal(get_from(fds[0]), b'Text')
        os.close(fds[0])
    equal(get(path), b'Text')


@case('a second close is refused with EBADF')
def closed_twice(d):
    fd = os.open(put(d, 'a.md', b'x'), os.O_RDONLY)
    os.close(fd)
    refuses('EBADF', os.close, fd)
    refuses('EBADF', os.dup, fd)
    refuses('EBADF', os.fsync, fd)
