"""Advisory locks between processes, on files and on lock files."""

import fcntl
import os
import signal

from .registry import case, equal, in_child, opened, put, refuses

NAMES = ('a.md', 'foo.lock', '.consolidate-lock')


@case('flock excludes another open file, shared locks do not exclude each other')
def flock(d):
    for name in NAMES:
        path = put(d, name, b'')
        with opened(path, os.O_RDWR) as one, opened(path, os.O_RDWR) as two:
            fcntl.flock(one, fcntl.LOCK_EX)
            refuses('EWOULDBLOCK', fcntl.flock, two, fcntl.LOCK_EX | fcntl.LOCK_NB)
            refuses('EWOULDBLOCK', fcntl.flock, two, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(one, fcntl.LOCK_SH)
            fcntl.flock(two, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(one, fcntl.LOCK_UN)
            fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)


@case('flock ends with the last close')
def flock_close(d):
    path = put(d, 'foo.lock', b'')
    first = os.open(path, os.O_RDWR)
    fcntl.flock(first, fcntl.LOCK_EX)
    copy = os.dup(first)
    os.close(first)
    with opened(path, os.O_RDWR) as two:
        refuses('EWOULDBLOCK', fcntl.flock, two, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(copy)
        fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)


@case('fcntl locks exclude another process by range')
def ranges(d):
    for name in NAMES:
        path = put(d, name, b'0123456789')
        with opened(path, os.O_RDWR) as fd:
            fcntl.lockf(fd, fcntl.LOCK_EX, 4, 0)

            def child():
                with opened(path, os.O_RDWR) as own:
                    refuses(('EAGAIN', 'EACCES'), fcntl.lockf, own, fcntl.LOCK_EX | fcntl.LOCK_NB, 2, 2)
                    fcntl.lockf(own, fcntl.LOCK_EX | fcntl.LOCK_NB, 4, 4)

            in_child(child)
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 0)


@case('a blocked fcntl lock is granted when the holder ends')
def blocked(d):
    path = put(d, 'foo.lock', b'')
    locked, release = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        fd = os.open(path, os.O_RDWR)
        fcntl.lockf(fd, fcntl.LOCK_EX)
        os.write(locked[1], b'x')
        os.read(release[0], 1)
        os._exit(0)
    os.read(locked[0], 1)
    with opened(path, os.O_RDWR) as fd:
        refuses(('EAGAIN', 'EACCES'), fcntl.lockf, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(release[1], b'x')
        fcntl.lockf(fd, fcntl.LOCK_EX)
    equal(os.waitpid(pid, 0)[1], 0)
    for end in (*locked, *release):
        os.close(end)


@case('a killed holder leaves no lock behind')
def killed(d):
    path = put(d, 'foo.lock', b'')
    for take in (fcntl.flock, fcntl.lockf):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            fd = os.open(path, os.O_RDWR)
            take(fd, fcntl.LOCK_EX)
            os.write(writer, b'x')
            signal.pause()
        os.read(reader, 1)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with opened(path, os.O_RDWR) as fd:
            take(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(reader)
        os.close(writer)
