"""Reading and writing beyond read and write: vectors, holes, copies inside the kernel."""

import ctypes
import errno
import os

from .registry import case, checked, equal, get, get_from, libc, opened, put, refuses


@case('pwrite with O_APPEND goes to the end whatever its offset says')
def append_pwrite(d):
    path = put(d, 'a.md', b'one\n')
    with opened(path, os.O_RDWR | os.O_APPEND) as fd:
        equal(os.pwrite(fd, b'two\n', 0), 4)
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, b'three\n')
        equal(os.lseek(fd, 0, os.SEEK_CUR), 14)
    equal(get(path), b'one\ntwo\nthree\n')


@case('lines appended by two forked processes interleave whole')
def append_forked(d):
    path = put(d, 'a.md', b'')
    children = []
    for name in (b'a', b'b', b'c'):
        pid = os.fork()
        if pid == 0:
            fd = os.open(path, os.O_WRONLY | os.O_APPEND)
            for at in range(150):
                os.write(fd, b'%s %d %s\n' % (name, at, name * (at % 60)))
            os.close(fd)
            os._exit(0)
        children.append(pid)
    equal([os.waitpid(pid, 0)[1] for pid in children], [0, 0, 0])
    lines = get(path).splitlines()
    equal(len(lines), 450)
    for name in (b'a', b'b', b'c'):
        own = [line for line in lines if line.startswith(name + b' ')]
        equal(own, [b'%s %d %s' % (name, at, name * (at % 60)) for at in range(150)])


@case('readv, writev, preadv and pwritev keep the order of their parts')
def vectors(d):
    with opened(f'{d}/a.md', os.O_CREAT | os.O_RDWR) as fd:
        equal(os.writev(fd, [b'ab', b'', b'cdef']), 6)
        equal(os.pwritev(fd, [b'X', b'Y'], 1), 2)
        one, two = bytearray(4), bytearray(4)
        equal(os.preadv(fd, [one, two], 0), 6)
        equal((bytes(one), bytes(two[:2])), (b'aXYd', b'ef'))
    equal(get(f'{d}/a.md'), b'aXYdef')


@case('a negative offset and a negative length are refused with EINVAL')
def negative(d):
    with opened(put(d, 'a.md', b'text'), os.O_RDWR) as fd:
        refuses('EINVAL', os.pread, fd, 1, -1)
        refuses('EINVAL', os.pwrite, fd, b'x', -1)
        refuses('EINVAL', os.lseek, fd, -1, os.SEEK_SET)
        refuses('EINVAL', os.lseek, fd, -5, os.SEEK_END)
        refuses('EINVAL', os.ftruncate, fd, -1)
        equal(get_from(fd), b'text')


@case('lseek to the end, beyond it and back')
def seeking(d):
    with opened(put(d, 'a.md', b'text'), os.O_RDWR) as fd:
        equal(os.lseek(fd, 0, os.SEEK_END), 4)
        equal(os.lseek(fd, -1, os.SEEK_END), 3)
        equal(os.read(fd, 9), b't')
        equal(os.lseek(fd, 96, os.SEEK_CUR), 100)
        equal(os.read(fd, 9), b'')
        os.write(fd, b'!')
        equal(os.lseek(fd, 0, os.SEEK_END), 101)


@case('SEEK_DATA and SEEK_HOLE agree with the content')
def holes(d):
    path = f'{d}/a.md'
    with opened(path, os.O_CREAT | os.O_RDWR) as fd:
        os.pwrite(fd, b'data', 0)
        os.pwrite(fd, b'more', 200_000)
    content = get(path)
    equal(len(content), 200_004)
    equal(content.strip(b'\0').count(b'\0'), 200_004 - 8)
    with opened(path, os.O_RDONLY) as fd:
        equal(os.lseek(fd, 0, os.SEEK_DATA), 0)
        hole = os.lseek(fd, 0, os.SEEK_HOLE)
        assert 4 <= hole <= 200_004, hole
        assert os.lseek(fd, 200_001, os.SEEK_DATA) == 200_001
        equal(os.lseek(fd, 200_001, os.SEEK_HOLE), 200_004)
        refuses('ENXIO', os.lseek, fd, 200_004, os.SEEK_DATA)
        refuses('ENXIO', os.lseek, fd, 300_000, os.SEEK_HOLE)
        at = 0
        while True:
            try:
                data = os.lseek(fd, at, os.SEEK_DATA)
            except OSError as error:
                equal(error.errno, errno.ENXIO)
                break
            equal(content[at:data].strip(b'\0'), b'')
            at = os.lseek(fd, data, os.SEEK_HOLE)


KEEP_SIZE, PUNCH_HOLE = 1, 2


def fallocate(fd, mode, offset, length):
    """fallocate(2) itself: `posix_fallocate` of the C library writes zeros where a file system has none."""
    return checked(libc.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)))


def check_fallocate(d):
    for name in ('a.md', 'a.tmp'):
        path = put(d, name, b'text')
        with opened(path, os.O_RDWR) as fd:
            fallocate(fd, 0, 2, 5998)
            equal(get_from(fd), b'text' + bytes(5996))
            fallocate(fd, 0, 0, 100)
            fallocate(fd, KEEP_SIZE, 4000, 8000)
            equal(os.fstat(fd).st_size, 6000)
            os.pwrite(fd, b'end', 7000)
        equal(get(path), b'text' + bytes(6996) + b'end')
        with opened(path, os.O_RDONLY) as fd:
            refuses('EBADF', fallocate, fd, 0, 0, 10_000)
        equal(os.stat(path).st_size, 7003)


@case('fallocate grows a file with zeros, and not with KEEP_SIZE')
def fallocate_grows(d):
    check_fallocate(d)
    with opened(f'{d}/a.md', os.O_RDWR) as fd:
        fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 0, 4096)
        equal(get_from(fd), bytes(7000) + b'end')


@fallocate_grows.on_mount('content is stored whole and has no holes: making one is refused, and changes nothing')
def _(d):
    check_fallocate(d)
    for name in ('a.md', 'a.tmp'):
        with opened(f'{d}/{name}', os.O_RDWR) as fd:
            refuses('EOPNOTSUPP', fallocate, fd, PUNCH_HOLE | KEEP_SIZE, 0, 4096)
            equal(get_from(fd), b'text' + bytes(6996) + b'end')


@case('posix_fallocate grows with zeros and never shrinks')
def allocate(d):
    path = put(d, 'a.md', b'text')
    with opened(path, os.O_RDWR) as fd:
        os.posix_fallocate(fd, 0, 10_000)
        equal(os.fstat(fd).st_size, 10_000)
        os.posix_fallocate(fd, 0, 10)
        equal(os.fstat(fd).st_size, 10_000)
    equal(get(path), b'text' + bytes(9_996))


@case('copy_file_range copies within the kernel, also onto an offset')
def copy_range(d):
    source = put(d, 'a.md', b'0123456789' * 2000)
    target = put(d, 'b.md', b'head ')
    with opened(source, os.O_RDONLY) as one, opened(target, os.O_RDWR) as two:
        left, at = 20_000, 5
        while left:
            count = os.copy_file_range(one, two, left, 20_000 - left, at)
            assert count > 0
            left, at = left - count, at + count
        equal(os.copy_file_range(one, two, 10, 20_000, 0), 0)
    equal(get(target), b'head ' + b'0123456789' * 2000)


@case('sendfile copies from one file to another')
def send(d):
    source = put(d, 'a.md', b'text' * 5000)
    with opened(source, os.O_RDONLY) as one, opened(f'{d}/b.md', os.O_CREAT | os.O_WRONLY) as two:
        at = 0
        while count := os.sendfile(two, one, at, 100_000):
            at += count
    equal(get(f'{d}/b.md'), b'text' * 5000)


@case('splice through a pipe copies both ways')
def splice(d):
    reader, writer = os.pipe()
    try:
        with opened(put(d, 'a.md', b'through a pipe'), os.O_RDONLY) as one:
            equal(os.splice(one, writer, 100), 14)
        with opened(f'{d}/b.md', os.O_CREAT | os.O_WRONLY) as two:
            equal(os.splice(reader, two, 14), 14)
    finally:
        os.close(reader)
        os.close(writer)
    equal(get(f'{d}/b.md'), b'through a pipe')


@case('one write of 900,000 bytes and one read of them')
def large(d):
    data = bytes(range(256)) * 3516
    path = f'{d}/a.md'
    with opened(path, os.O_CREAT | os.O_RDWR) as fd:
        done = 0
        while done < len(data):
            done += os.write(fd, data[done:])
        equal(os.pread(fd, 100, 500_000), data[500_000:500_100])
        equal(os.fstat(fd).st_size, len(data))
    assert get(path) == data
    assert os.stat(path).st_blocks > 0


@case('truncate by path without opening the file')
def truncate_path(d):
    path = put(d, 'a.md', b'abcdef')
    os.truncate(path, 3)
    equal(get(path), b'abc')
    os.truncate(path, 5)
    equal(get(path), b'abc\0\0')
    refuses('EISDIR', os.truncate, d, 0)
    refuses('ENOENT', os.truncate, f'{d}/none', 0)
    refuses('EINVAL', os.truncate, path, -1)


@case('two writers of one session share one content')
def two_writers(d):
    path = put(d, 'a.md', b'')
    with opened(path, os.O_RDWR) as one, opened(path, os.O_RDWR) as two:
        os.pwrite(one, b'one', 0)
        os.pwrite(two, b'two', 3)
        equal(get_from(one), b'onetwo')
        equal(get_from(two), b'onetwo')
    equal(get(path), b'onetwo')
