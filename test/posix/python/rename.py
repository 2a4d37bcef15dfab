"""renameat2 with its flags."""

import os

from .registry import case, checked, equal, get, get_from, libc, opened, put, refuses

AT_FDCWD, NOREPLACE, EXCHANGE = -100, 1, 2


def rename(source, target, flags):
    return checked(libc.renameat2(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), flags))


@case('RENAME_NOREPLACE moves to a new name')
def noreplace(d):
    rename(put(d, 'a.md', b'text'), f'{d}/b.md', NOREPLACE)
    equal(os.listdir(d), ['b.md'])
    equal(get(f'{d}/b.md'), b'text')


@case('RENAME_NOREPLACE over a file, a folder or itself is refused with EEXIST')
def noreplace_exists(d):
    a, b = put(d, 'a.md', b'a'), put(d, 'b.md', b'b')
    os.mkdir(f'{d}/sub')
    for target in (b, f'{d}/sub', a):
        refuses('EEXIST', rename, a, target, NOREPLACE)
    refuses('EEXIST', rename, f'{d}/sub', b, NOREPLACE)
    refuses('ENOENT', rename, f'{d}/none', f'{d}/new', NOREPLACE)
    equal((get(a), get(b)), (b'a', b'b'))


@case('RENAME_EXCHANGE swaps two files')
def exchange(d):
    a, b = put(d, 'a.md', b'in a'), put(d, 'b.md', b'in b, longer')
    inodes = os.stat(a).st_ino, os.stat(b).st_ino
    rename(a, b, EXCHANGE)
    equal((get(a), get(b)), (b'in b, longer', b'in a'))
    equal((os.stat(b).st_ino, os.stat(a).st_ino), inodes)
    equal((os.stat(a).st_size, os.stat(b).st_size), (12, 4))


@case('RENAME_EXCHANGE swaps a file with a folder that has entries, across folders')
def exchange_folder(d):
    os.mkdir(f'{d}/one')
    os.mkdir(f'{d}/two')
    os.mkdir(f'{d}/two/sub')
    a = put(f'{d}/one', 'a.md', b'text')
    put(f'{d}/two/sub', 'b.md', b'deep')
    rename(a, f'{d}/two/sub', EXCHANGE)
    equal(get(f'{d}/two/sub'), b'text')
    equal(get(f'{d}/one/a.md/b.md'), b'deep')


@case('RENAME_EXCHANGE with open descriptors leaves each with its file')
def exchange_open(d):
    a, b = put(d, 'a.md', b'A'), put(d, 'b.md', b'B')
    with opened(a, os.O_RDWR) as one, opened(b, os.O_RDWR) as two:
        rename(a, b, EXCHANGE)
        equal((get_from(one), get_from(two)), (b'A', b'B'))
        os.pwrite(one, b'AA', 0)
        equal((os.fstat(one).st_nlink, os.fstat(two).st_nlink), (1, 1))
    equal((get(a), get(b)), (b'B', b'AA'))


@case('RENAME_EXCHANGE refuses a missing side with ENOENT and a subtree with EINVAL')
def exchange_refused(d):
    a = put(d, 'a.md', b'text')
    os.makedirs(f'{d}/sub/deep')
    refuses('ENOENT', rename, a, f'{d}/none', EXCHANGE)
    refuses('ENOENT', rename, f'{d}/none', a, EXCHANGE)
    refuses('EINVAL', rename, f'{d}/sub', f'{d}/sub/deep', EXCHANGE)
    refuses('EINVAL', rename, f'{d}/sub/deep', f'{d}/sub', EXCHANGE)
    equal(get(a), b'text')


@case('unknown and contradicting flags of renameat2 are refused with EINVAL')
def flags(d):
    a, b = put(d, 'a.md', b'a'), put(d, 'b.md', b'b')
    refuses('EINVAL', rename, a, b, 1 << 20)
    refuses('EINVAL', rename, a, b, NOREPLACE | EXCHANGE)
    equal((get(a), get(b)), (b'a', b'b'))
