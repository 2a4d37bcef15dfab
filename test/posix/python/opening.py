"""Flags of open that Node.js has no name for, and paths through descriptors."""

import os
import stat

from .registry import case, equal, get, get_from, link_open_file, opened, put, refuses


@case('O_TMPFILE makes a file without a name that linkat can name')
def tmpfile(d):
    with opened(d, os.O_TMPFILE | os.O_RDWR, 0o600) as fd:
        os.write(fd, b'text')
        equal(get_from(fd), b'text')
        equal(os.fstat(fd).st_nlink, 0)
        equal(os.listdir(d), [])
        link_open_file(fd, f'{d}/a.md')
    equal(get(f'{d}/a.md'), b'text')


@tmpfile.on_mount('a file gets its name by create or rename only, as there are no hard links (spec 3.6)')
def _(d):
    refuses('EOPNOTSUPP', os.open, d, os.O_TMPFILE | os.O_RDWR, 0o600)
    equal(os.listdir(d), [])


@case('O_PATH gives a descriptor for stat and openat, but not for reading and writing')
def o_path(d):
    path = put(d, 'a.md', b'text')
    with opened(path, os.O_PATH) as fd:
        equal(os.fstat(fd).st_size, 4)
        refuses('EBADF', os.read, fd, 1)
        refuses('EBADF', os.write, fd, b'x')
        refuses('EBADF', os.ftruncate, fd, 0)
        equal(get(f'/proc/self/fd/{fd}'), b'text')


@case('an O_PATH descriptor of a removed file tells no links and opens it again')
def o_path_removed(d):
    path = put(d, 'a.md', b'text')
    with opened(path, os.O_PATH) as fd:
        os.unlink(path)
        equal(os.fstat(fd).st_nlink, 0)
        equal(get(f'/proc/self/fd/{fd}'), b'text')


@case('O_PATH with O_DIRECTORY serves openat, fstatat, mkdirat, renameat and unlinkat')
def at_calls(d):
    with opened(d, os.O_PATH | os.O_DIRECTORY) as at:
        fd = os.open('a.md', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=at)
        os.write(fd, b'text')
        os.close(fd)
        equal(os.stat('a.md', dir_fd=at).st_size, 4)
        os.mkdir('sub', dir_fd=at)
        os.rename('a.md', 'sub/b.md', src_dir_fd=at, dst_dir_fd=at)
        refuses('ENOTEMPTY', os.rmdir, 'sub', dir_fd=at)
        os.unlink('sub/b.md', dir_fd=at)
        os.rmdir('sub', dir_fd=at)
        refuses('ENOENT', os.stat, 'sub', dir_fd=at)
    with opened(put(d, 'c.md', b''), os.O_RDONLY) as fd:
        refuses('ENOTDIR', os.open, 'x', os.O_RDONLY, dir_fd=fd)


@case('an open through /proc/self/fd is a new open of the same file')
def through_proc(d):
    path = put(d, 'a.md', b'text')
    with opened(path, os.O_RDONLY) as fd:
        with opened(f'/proc/self/fd/{fd}', os.O_RDWR) as again:
            os.write(again, b'T')
            equal(os.fstat(again).st_ino, os.fstat(fd).st_ino)
        equal(get(path), b'Text')
        equal(os.readlink(f'/proc/self/fd/{fd}'), path)


@case('a file that was unlinked opens again through /proc/self/fd')
def reopen_unlinked(d):
    path = put(d, 'a.md', b'text')
    with opened(path, os.O_RDWR) as fd:
        os.unlink(path)
        equal(get(f'/proc/self/fd/{fd}'), b'text')
        with opened(f'/proc/self/fd/{fd}', os.O_WRONLY | os.O_TRUNC) as again:
            os.write(again, b'new')
        equal(get_from(fd), b'new')
        equal(os.listdir(d), [])


@case('O_NOATIME, O_CLOEXEC, O_NONBLOCK and O_NOCTTY open as usual')
def quiet_flags(d):
    path = put(d, 'a.md', b'text')
    for flag in (os.O_NOATIME, os.O_CLOEXEC, os.O_NONBLOCK, os.O_NOCTTY):
        with opened(path, os.O_RDWR | flag) as fd:
            equal(get_from(fd), b'text')
    equal(get(path), b'text')


@case('F_SETFL takes O_APPEND on and off')
def set_append(d):
    import fcntl

    path = put(d, 'a.md', b'one')
    with opened(path, os.O_RDWR) as fd:
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_APPEND)
        os.write(fd, b'two')
        fcntl.fcntl(fd, fcntl.F_SETFL, flags)
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, b'ONE')
    equal(get(path), b'ONEtwo')


@case('O_CREAT with the mode 0400 gives a descriptor that writes')
def read_only_mode(d):
    with opened(f'{d}/a.md', os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o400) as fd:
        os.write(fd, b'text')
        equal(get_from(fd), b'text')
    equal(get(f'{d}/a.md'), b'text')
    assert stat.S_ISREG(os.stat(f'{d}/a.md').st_mode)


@case('a hundred descriptors of one file are open at once')
def many(d):
    path = put(d, 'a.md', b'text')
    fds = [os.open(path, os.O_RDWR) for _ in range(100)]
    try:
        equal({get_from(fd) for fd in fds}, {b'text'})
        os.pwrite(fds[50], b'T', 0)
        equal({get_from(fd) for fd in fds}, {b'Text'})
    finally:
        for fd in fds:
            os.close(fd)
    equal(get(path), b'Text')
