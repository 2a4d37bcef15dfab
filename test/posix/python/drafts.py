"""What two sessions see of a file that is not closed. On a plain folder: everything; on a mount: nothing."""

import os

from .other_session import OtherSession
from .registry import case, equal, get, get_from, opened, put

DRAFT = 'nobody but the writing session sees a file before it is closed (spec 4.2)'
WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


@case('sessions: a reader sees a write in place as it happens')
def reader(d):
    path = put(d, 'a.md', b'old text')
    with OtherSession() as other, opened(path, os.O_RDONLY) as fd:
        other.put(d, 'a.md', b'new')
        equal(get_from(fd), b'new')


@reader.on_mount('a file opened for reading keeps the content it had at open until it is closed (spec 4.2)')
def _(d):
    path = put(d, 'a.md', b'old text')
    with OtherSession() as other, opened(path, os.O_RDONLY) as fd:
        equal(os.read(fd, 3), b'old')
        other.put(d, 'a.md', b'new')
        equal(os.read(fd, 9), b' text')
        equal(get_from(fd), b'old text')
        other.put(d, 'a.md', b'newer still, and longer')
        equal(get_from(fd), b'old text')
        equal(get(path), b'newer still, and longer')
        with opened(path, os.O_RDONLY) as fresh:
            equal(get_from(fresh), b'newer still, and longer')
            equal(get_from(fd), b'old text')


@case('sessions: what is not closed yet is seen by all')
def draft(d):
    path = put(d, 'a.md', b'old')
    with OtherSession() as other:
        fd = other.open(path, WRITE)
        other.write(fd, b'half')
        equal(get(path), b'half')
        other.close(fd)


@draft.on_mount(DRAFT)
def _(d):
    path = put(d, 'a.md', b'old')
    with OtherSession() as other, OtherSession() as third:
        fd = other.open(path, WRITE)
        equal(get(path), b'old')
        other.write(fd, b'half')
        for _ in range(3):
            equal((get(path), os.stat(path).st_size), (b'old', 3))
            equal((third.get(path), third.stat(path).st_size), (b'old', 3))
            equal((other.get(path), other.stat(path).st_size), (b'half', 4))
            equal(other.child_reads(path), b'half')
        other.write(fd, b' and whole')
        equal((get(path), other.fstat(fd).st_size), (b'old', 14))
        other.close(fd)
        equal((get(path), os.stat(path).st_size), (b'half and whole', 14))
        equal(third.get(path), b'half and whole')


@case('sessions: fsync makes nothing more visible than it was')
def synced(d):
    path = put(d, 'a.md', b'old')
    with OtherSession() as other:
        fd = other.open(path, os.O_RDWR)
        other.pwrite(fd, b'OLD', 0)
        before = get(path)
        other.fsync(fd)
        other.fdatasync(fd)
        equal(get(path), before)
        other.close(fd)
        equal(get(path), b'OLD')


@case('sessions: a truncation and an append in progress are seen by all')
def unfinished(d):
    path = put(d, 'a.md', b'one\n')
    with OtherSession() as other:
        fd = other.open(path, os.O_WRONLY | os.O_APPEND)
        other.write(fd, b'two\n')
        equal(get(path), b'one\ntwo\n')
        other.ftruncate(fd, 0)
        equal(get(path), b'')
        other.close(fd)


@unfinished.on_mount(DRAFT)
def _(d):
    path = put(d, 'a.md', b'one\n')
    with OtherSession() as other:
        fd = other.open(path, os.O_WRONLY | os.O_APPEND)
        other.write(fd, b'two\n')
        equal((get(path), other.get(path)), (b'one\n', b'one\ntwo\n'))
        other.ftruncate(fd, 0)
        equal((get(path), other.get(path)), (b'one\n', b''))
        equal((os.stat(path).st_size, other.stat(path).st_size), (4, 0))
        other.write(fd, b'three\n')
        other.close(fd)
        equal(get(path), b'three\n')


@case('sessions: a file being created is there for all, with what it holds')
def creating(d):
    with OtherSession() as other:
        fd = other.open(f'{d}/a.md', os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        other.write(fd, b'text')
        equal((os.listdir(d), get(f'{d}/a.md')), (['a.md'], b'text'))
        other.close(fd)


@creating.on_mount('a file that is being created is there for the others, empty, until its first close (spec 4.2)')
def _(d):
    path = f'{d}/a.md'
    with OtherSession() as other:
        fd = other.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        other.write(fd, b'text')
        equal(os.listdir(d), ['a.md'])
        equal((os.stat(path).st_size, get(path)), (0, b''))
        equal((other.stat(path).st_size, other.get(path)), (4, b'text'))
        other.close(fd)
        equal((os.stat(path).st_size, get(path)), (4, b'text'))


@case('sessions: a child that closes an inherited descriptor has saved nothing')
def inherited(d):
    path = put(d, 'a.md', b'old')
    with OtherSession() as other:
        fd = other.open(path, WRITE)
        other.write(fd, b'half')
        other.fork_and_close(fd)
        equal(get(path), b'half')
        other.close(fd)


@inherited.on_mount('a child that merely inherited the descriptor and closes it has closed nothing (spec 4.5)')
def _(d):
    path = put(d, 'a.md', b'old')
    with OtherSession() as other:
        fd = other.open(path, WRITE)
        other.write(fd, b'half')
        other.fork_and_close(fd)
        equal((get(path), other.get(path)), (b'old', b'half'))
        other.write(fd, b' and whole')
        other.close(fd)
        equal(get(path), b'half and whole')


@case('sessions: a local file is seen as it is written')
def local(d):
    for name in ('foo.lock', '.note.md.swp', 'note.md.tmp.12.ab12cd34ef56'):
        with OtherSession() as other:
            fd = other.open(f'{d}/{name}', os.O_RDWR | os.O_CREAT | os.O_EXCL)
            other.write(fd, b'123')
            equal((get(f'{d}/{name}'), os.stat(f'{d}/{name}').st_size), (b'123', 3))
            other.close(fd)
            equal(get(f'{d}/{name}'), b'123')
