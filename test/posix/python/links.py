"""Device nodes, pipes, sockets, links by descriptor, and extended attributes."""

import os
import socket
import stat

from .registry import case, equal, get, link_open_file, opened, put, refuses

WHY = 'a tree has no links and no device nodes: EPERM (spec 3.6)'


@case('mknod of a regular file makes an empty file')
def mknod_file(d):
    os.mknod(f'{d}/a.md', 0o600 | stat.S_IFREG)
    assert stat.S_ISREG(os.lstat(f'{d}/a.md').st_mode)
    equal(get(f'{d}/a.md'), b'')
    refuses('EEXIST', os.mknod, f'{d}/a.md', 0o600 | stat.S_IFREG)
    with opened(f'{d}/a.md', os.O_WRONLY) as fd:
        os.write(fd, b'text')
    equal(get(f'{d}/a.md'), b'text')


@case('mkfifo makes a pipe with a name')
def fifo(d):
    os.mkfifo(f'{d}/fifo')
    assert stat.S_ISFIFO(os.lstat(f'{d}/fifo').st_mode)


@fifo.on_mount(WHY)
def _(d):
    refuses('EPERM', os.mkfifo, f'{d}/fifo')
    equal(os.listdir(d), [])


@case('a device node is made by root and refused to others with EPERM')
def device(d):
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        if os.geteuid() == 0:
            os.mknod(f'{d}/node', 0o600 | kind, os.makedev(1, 3))
            os.unlink(f'{d}/node')
        else:
            refuses('EPERM', os.mknod, f'{d}/node', 0o600 | kind, os.makedev(1, 3))


@device.on_mount(WHY)
def _(d):
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        refuses('EPERM', os.mknod, f'{d}/node', 0o600 | kind, os.makedev(1, 3))
    equal(os.listdir(d), [])


@case('a socket gets a name')
def unix_socket(d):
    os.chdir(d)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind('sock')
        assert stat.S_ISSOCK(os.lstat('sock').st_mode)


@unix_socket.on_mount(WHY)
def _(d):
    os.chdir(d)
    with socket.socket(socket.AF_UNIX) as server:
        refuses('EPERM', server.bind, 'sock')
    equal(os.listdir(d), [])


@case('linkat by descriptor gives an open file a second name')
def link_by_fd(d):
    with opened(put(d, 'a.md', b'text'), os.O_RDONLY) as fd:
        link_open_file(fd, f'{d}/b.md')
    equal(get(f'{d}/b.md'), b'text')
    equal(os.stat(f'{d}/a.md').st_nlink, 2)


@link_by_fd.on_mount(WHY)
def _(d):
    with opened(put(d, 'a.md', b'text'), os.O_RDONLY) as fd:
        refuses('EPERM', link_open_file, fd, f'{d}/b.md')
    equal(os.listdir(d), ['a.md'])


@case('an extended attribute is kept, where the file system has them')
def attributes(d):
    path = put(d, 'a.md', b'text')
    try:
        os.setxattr(path, 'user.note', b'value')
    except OSError as error:
        refuses('ENOTSUP', os.getxattr, path, 'user.note')
        equal(error.errno, 95)
        return
    equal(os.getxattr(path, 'user.note'), b'value')
    assert 'user.note' in os.listxattr(path)
    os.removexattr(path, 'user.note')
    refuses('ENODATA', os.getxattr, path, 'user.note')


@attributes.on_mount('extended attributes are answered with ENOSYS, which the kernel tells as ENOTSUP')
def _(d):
    for path in (put(d, 'a.md', b'text'), d):
        refuses('ENOTSUP', os.setxattr, path, 'user.note', b'value')
        refuses('ENOTSUP', os.getxattr, path, 'user.note')
        refuses('ENOTSUP', os.getxattr, path, 'security.capability')
        refuses('ENOTSUP', os.listxattr, path)
        refuses('ENOTSUP', os.removexattr, path, 'user.note')
    equal(get(f'{d}/a.md'), b'text')
