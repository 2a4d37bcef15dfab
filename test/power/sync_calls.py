"""Makes every call that is to return only when something is on the disk, and prints what came of each.

Usage: sync_calls.py FOLDER
"""

import ctypes
import errno
import mmap
import os
import sys

folder = sys.argv[1]
os.chdir("/")
path = os.path.join(folder, "synced.md")
local = os.path.join(folder, "synced.md.tmp.1.abcdef")


def opened(flags, work, name=path):
    fd = os.open(name, flags, 0o600)
    try:
        work(fd)
    finally:
        try:
            os.close(fd)
        except OSError:
            pass


def after_write(call):
    def work(fd):
        os.write(fd, b"text\n")
        call(fd)

    return work


def renamed():
    opened(os.O_WRONLY | os.O_CREAT, lambda fd: os.write(fd, b"text\n"), path + ".new")
    os.rename(path + ".new", path)
    opened(os.O_RDONLY, os.fsync)


def mapped(fd):
    os.ftruncate(fd, 4096)
    with mmap.mmap(fd, 4096) as view:
        view[0:4] = b"text"
        view.flush()


def syncfs(fd):
    if ctypes.CDLL(None, use_errno=True).syncfs(fd) != 0:
        raise OSError(ctypes.get_errno(), "syncfs")


WRITE = os.O_WRONLY | os.O_CREAT
CALLS = {
    "fsync": lambda: opened(WRITE, after_write(os.fsync)),
    "fdatasync": lambda: opened(WRITE, after_write(os.fdatasync)),
    "fsync of a file opened for reading": lambda: opened(os.O_RDONLY, os.fsync),
    "fsync of the folder": lambda: opened(os.O_RDONLY | os.O_DIRECTORY, os.fsync, folder),
    "fsync after rename": renamed,
    "O_SYNC": lambda: opened(WRITE | os.O_SYNC, lambda fd: os.write(fd, b"text\n")),
    "O_DSYNC": lambda: opened(WRITE | os.O_DSYNC, lambda fd: os.write(fd, b"text\n")),
    "O_SYNC and O_APPEND": lambda: opened(WRITE | os.O_SYNC | os.O_APPEND, lambda fd: os.write(fd, b"text\n")),
    "RWF_DSYNC": lambda: opened(WRITE, lambda fd: os.pwritev(fd, [b"text\n"], 0, os.RWF_DSYNC)),
    "RWF_SYNC": lambda: opened(WRITE, lambda fd: os.pwritev(fd, [b"text\n"], 0, os.RWF_SYNC)),
    "fsync of a local file": lambda: opened(WRITE, after_write(os.fsync), local),
    "O_SYNC of a local file": lambda: opened(WRITE | os.O_SYNC, lambda fd: os.write(fd, b"text\n"), local),
    "msync of a local file": lambda: opened(os.O_RDWR | os.O_CREAT, mapped, local),
    "syncfs": lambda: opened(os.O_RDONLY, syncfs),
    "write": lambda: opened(WRITE, lambda fd: os.write(fd, b"text\n")),
}

for name, call in CALLS.items():
    try:
        call()
        print(name + ": done")
    except OSError as error:
        print(name + ": " + errno.errorcode[error.errno])
