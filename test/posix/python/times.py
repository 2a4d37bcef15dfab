"""utimensat to the nanosecond, UTIME_NOW and UTIME_OMIT."""

import ctypes
import os
import time

from .registry import case, checked, equal, libc, opened, put

AT_FDCWD, NOW, OMIT = -100, (1 << 30) - 1, (1 << 30) - 2


class Timespec(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('nanoseconds', ctypes.c_long)]


def utimensat(path, atime, mtime):
    """Sets times given as (seconds, nanoseconds or NOW or OMIT)."""
    pair = (Timespec * 2)(Timespec(*atime), Timespec(*mtime))
    return checked(libc.utimensat(AT_FDCWD, os.fsencode(path), pair, 0))


def times(path):
    found = os.stat(path)
    return found.st_atime_ns, found.st_mtime_ns


@case('a time is kept to the microsecond at least')
def precision(d):
    for path in (put(d, 'a.md', b'x'), d):
        os.utime(path, ns=(1_500_000_000_123_456_000, 1_600_000_000_987_654_000))
        equal(times(path), (1_500_000_000_123_456_000, 1_600_000_000_987_654_000))


@case('a time given in nanoseconds comes back within a microsecond')
def nanoseconds(d):
    path = put(d, 'a.md', b'x')
    for part in (1, 999, 123_456_789, 999_999_999):
        os.utime(path, ns=(1_600_000_000 * 10**9, 1_600_000_000 * 10**9 + part))
        assert abs(os.stat(path).st_mtime_ns - (1_600_000_000 * 10**9 + part)) < 1000


@case('a time before 1970 is kept')
def before_1970(d):
    path = put(d, 'a.md', b'x')
    os.utime(path, ns=(-86_400 * 10**9, -86_400 * 10**9 + 1000))
    equal(times(path), (-86_400 * 10**9, -86_400 * 10**9 + 1000))


@case('UTIME_OMIT leaves one time and sets the other')
def omit(d):
    path = put(d, 'a.md', b'x')
    os.utime(path, ns=(10**18, 2 * 10**18))
    utimensat(path, (0, OMIT), (1_700_000_000, 5000))
    equal(times(path), (10**18, 1_700_000_000 * 10**9 + 5000))
    utimensat(path, (1_650_000_000, 7000), (0, OMIT))
    equal(times(path), (1_650_000_000 * 10**9 + 7000, 1_700_000_000 * 10**9 + 5000))
    utimensat(path, (0, OMIT), (0, OMIT))
    equal(times(path), (1_650_000_000 * 10**9 + 7000, 1_700_000_000 * 10**9 + 5000))


@case('UTIME_NOW sets the time of now')
def now(d):
    path = put(d, 'a.md', b'x')
    os.utime(path, ns=(10**18, 10**18))
    utimensat(path, (0, NOW), (0, NOW))
    assert all(abs(found - time.time_ns()) < 2 * 10**9 for found in times(path))
    os.utime(path, ns=(10**18, 10**18))
    utimensat(path, (0, OMIT), (0, NOW))
    atime, mtime = times(path)
    equal(atime, 10**18)
    assert abs(mtime - time.time_ns()) < 2 * 10**9
    os.utime(path)
    assert abs(os.stat(path).st_atime_ns - time.time_ns()) < 2 * 10**9


@case('futimens by a descriptor opened for reading')
def by_descriptor(d):
    path = put(d, 'a.md', b'x')
    with opened(path, os.O_RDONLY) as fd:
        os.utime(fd, ns=(10**18, 3 * 10**17))
        equal(os.fstat(fd).st_mtime_ns, 3 * 10**17)
    equal(os.stat(path).st_mtime_ns, 3 * 10**17)


@case('utimes of an unlinked open file')
def unlinked(d):
    path = put(d, 'a.md', b'x')
    with opened(path, os.O_RDWR) as fd:
        os.unlink(path)
        os.utime(fd, ns=(10**18, 10**18))
        equal(os.fstat(fd).st_mtime_ns, 10**18)


@case('fstat and stat tell the same times')
def agreed(d):
    path = put(d, 'a.md', b'x')
    with opened(path, os.O_RDWR) as fd:
        for step in range(5):
            os.write(fd, b'step')
            one, two = os.fstat(fd), os.stat(path)
            equal((one.st_mtime_ns, one.st_ctime_ns, one.st_size), (two.st_mtime_ns, two.st_ctime_ns, two.st_size))
