"""Who may do what: executing, access by mode, and what statvfs tells."""

import os
import stat
import subprocess

from .registry import case, equal, get, opened, put, refuses

ST_RDONLY, ST_NOSUID, ST_NODEV, ST_NOEXEC = 1, 2, 4, 8


@case('a script with its execute bit runs, unless the file system is mounted noexec')
def execute(d):
    path = put(d, 'run.sh', b'#!/bin/sh\necho ran\n')
    os.chmod(path, 0o755)
    if os.statvfs(d).f_flag & ST_NOEXEC:
        refuses('EACCES', subprocess.run, [path], capture_output=True)
        return
    equal(subprocess.run([path], check=True, capture_output=True).stdout, b'ran\n')


@execute.on_mount('the mount is noexec and files are 0600 (spec 3.4)')
def _(d):
    path = put(d, 'run.sh', b'#!/bin/sh\necho ran\n')
    os.chmod(path, 0o755)
    refuses('EACCES', subprocess.run, [path], capture_output=True)
    equal(subprocess.run(['sh', path], check=True, capture_output=True).stdout, b'ran\n')


@case('access tells X_OK by the execute bits')
def access(d):
    path = put(d, 'run.sh', b'')
    equal(os.access(path, os.R_OK | os.W_OK), True)
    equal(os.access(path, os.X_OK), False)
    os.chmod(path, 0o755)
    equal(os.access(path, os.X_OK), not os.statvfs(d).f_flag & ST_NOEXEC)
    equal(os.access(f'{d}/none', os.F_OK), False)
    equal(os.access(d, os.R_OK | os.W_OK | os.X_OK), True)


@access.on_mount('the mount is noexec and chmod is masked to 0600 (spec 3.4)')
def _(d):
    path = put(d, 'run.sh', b'')
    os.chmod(path, 0o755)
    equal(os.access(path, os.R_OK | os.W_OK), True)
    equal(os.access(path, os.X_OK), False)
    equal(os.access(d, os.R_OK | os.W_OK | os.X_OK), True)
    equal(os.access(f'{d}/none', os.F_OK), False)


@case('statvfs tells names of 255 bytes and a file system that is not read-only')
def flags(d):
    found = os.statvfs(d)
    equal(found.f_namemax, 255)
    equal(found.f_flag & ST_RDONLY, 0)
    with opened(put(d, 'a.md', b''), os.O_RDONLY) as fd:
        equal(os.fstatvfs(fd).f_namemax, 255)


@flags.on_mount('the mount is nosuid, nodev and noexec, and df shows 2,000 files (spec 3.4 and 3.5)')
def _(d):
    found = os.statvfs(d)
    equal(found.f_namemax, 255)
    equal(found.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC), ST_NOSUID | ST_NODEV | ST_NOEXEC)
    equal(found.f_files, 2000)
    assert 0 < found.f_ffree <= 2000 and found.f_favail <= found.f_ffree


@case('all of a file is on one device, with an inode number that stays')
def identity(d):
    path = put(d, 'a.md', b'text')
    os.mkdir(f'{d}/sub')
    first = os.stat(path)
    equal({os.stat(p).st_dev for p in (d, path, f'{d}/sub')}, {first.st_dev})
    os.chmod(path, 0o600)
    with opened(path, os.O_RDWR | os.O_TRUNC) as fd:
        os.write(fd, b'other')
        equal(os.fstat(fd).st_ino, first.st_ino)
    equal(os.stat(path).st_ino, first.st_ino)
    os.rename(path, f'{d}/sub/b.md')
    equal(os.stat(f'{d}/sub/b.md').st_ino, first.st_ino)
    equal(get(f'{d}/sub/b.md'), b'other')


@case('an unknown kind of file is refused with EINVAL or EPERM by mknod')
def unknown_kind(d):
    refuses(('EINVAL', 'EPERM'), os.mknod, f'{d}/x', 0o600 | stat.S_IFDIR)
    equal(os.listdir(d), [])
