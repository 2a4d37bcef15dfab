"""Folders read through descriptors, with positions, and after they are removed."""

import ctypes
import os

from .registry import case, equal, libc, opened, put, refuses


class Entry(ctypes.Structure):
    """`struct dirent` of Linux on 64-bit machines."""

    _fields_ = [
        ('ino', ctypes.c_uint64),
        ('offset', ctypes.c_int64),
        ('length', ctypes.c_uint16),
        ('type', ctypes.c_uint8),
        ('name', ctypes.c_char * 256),
    ]


libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.POINTER(Entry)
libc.readdir.argtypes = [ctypes.c_void_p]
libc.telldir.restype = ctypes.c_long
libc.telldir.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
libc.rewinddir.argtypes = [ctypes.c_void_p]
libc.closedir.argtypes = [ctypes.c_void_p]


class Reader:
    """A directory stream of libc."""

    def __init__(self, folder):
        self.stream = libc.opendir(os.fsencode(folder))
        assert self.stream

    def next(self):
        entry = libc.readdir(self.stream)
        return os.fsdecode(entry.contents.name) if entry else None

    def rest(self):
        names = []
        while (name := self.next()) is not None:
            names.append(name)
        return names

    def tell(self):
        return libc.telldir(self.stream)

    def seek(self, position):
        libc.seekdir(self.stream, position)

    def rewind(self):
        libc.rewinddir(self.stream)

    def close(self):
        libc.closedir(self.stream)


def fill(d, count):
    names = [f'{index:04}-{"n" * 90}.md' for index in range(count)]
    for name in names:
        put(d, name)
    return names


@case('seekdir goes back to where telldir was, everywhere in a folder of 500 entries')
def seek(d):
    names = fill(d, 500)
    reader = Reader(d)
    order, positions = [], [reader.tell()]
    while (name := reader.next()) is not None:
        order.append(name)
        positions.append(reader.tell())
    equal(sorted(order), sorted([*names, '.', '..']))
    for at in [*range(0, len(order), 37), 1, 2, 3, len(order)]:
        reader.seek(positions[at])
        equal(reader.rest(), order[at:])
    reader.close()


@case('seekdir still works after other entries were made and removed')
def seek_after_change(d):
    names = fill(d, 500)
    reader = Reader(d)
    before = [reader.next() for _ in range(250)]
    position = reader.tell()
    reader.rest()
    for name in before[10:60]:
        if name not in ('.', '..'):
            os.unlink(f'{d}/{name}')
    for index in range(50):
        put(d, f'new-{index}')
    reader.seek(position)
    rest = reader.rest()
    equal(len(rest), len(set(rest)))
    equal(set(names) - set(before) - set(rest), set())
    equal(set(rest) & set(before), set())
    reader.close()


@case('rewinddir shows what changed since')
def rewind(d):
    put(d, 'a.md')
    reader = Reader(d)
    equal(sorted(reader.rest()), ['.', '..', 'a.md'])
    put(d, 'b.md')
    os.unlink(f'{d}/a.md')
    reader.rewind()
    equal(sorted(reader.rest()), ['.', '..', 'b.md'])
    reader.close()


@case('two readers of one folder do not disturb each other')
def two_readers(d):
    names = fill(d, 100)
    one, two = Reader(d), Reader(d)
    first = [one.next() for _ in range(50)]
    equal(sorted(two.rest()), sorted([*names, '.', '..']))
    equal(sorted(first + one.rest()), sorted([*names, '.', '..']))
    one.close()
    two.close()


@case('an entry has the inode number that stat tells')
def inodes(d):
    put(d, 'a.md')
    os.mkdir(f'{d}/sub')
    with os.scandir(d) as entries:
        found = {entry.name: entry.inode() for entry in entries}
    equal(found, {name: os.lstat(f'{d}/{name}').st_ino for name in ('a.md', 'sub')})
    equal(len({*found.values(), os.stat(d).st_ino}), 3)


@case('a removed folder that is still open is empty and takes nothing new')
def removed(d):
    os.mkdir(f'{d}/sub')
    with opened(f'{d}/sub', os.O_RDONLY | os.O_DIRECTORY) as at:
        os.rmdir(f'{d}/sub')
        equal(os.listdir(at), [])
        refuses('ENOENT', os.open, 'a.md', os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=at)
        refuses('ENOENT', os.mkdir, 'x', dir_fd=at)
        os.fstat(at)
    equal(os.listdir(d), [])


@case('a removed folder that is the working folder answers ENOENT for its name')
def removed_cwd(d):
    os.mkdir(f'{d}/sub')
    os.chdir(f'{d}/sub')
    os.rmdir(f'{d}/sub')
    refuses('ENOENT', os.getcwd)
    refuses('ENOENT', os.open, 'a.md', os.O_CREAT | os.O_WRONLY, 0o600)
    os.chdir('..')
    equal(os.getcwd(), d)


@case('a folder read through a descriptor follows its rename')
def moved(d):
    os.mkdir(f'{d}/sub')
    with opened(f'{d}/sub', os.O_RDONLY | os.O_DIRECTORY) as at:
        os.rename(f'{d}/sub', f'{d}/moved')
        os.close(os.open('a.md', os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=at))
        equal(os.listdir(at), ['a.md'])
    equal(os.listdir(f'{d}/moved'), ['a.md'])


@case('fsync of a folder succeeds after a create and a rename')
def fsync_folder(d):
    put(d, 'a.md', b'text')
    os.rename(f'{d}/a.md', f'{d}/b.md')
    with opened(d, os.O_RDONLY | os.O_DIRECTORY) as at:
        os.fsync(at)
        os.fdatasync(at)
