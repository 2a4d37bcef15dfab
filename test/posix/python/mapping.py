"""Files in memory: private maps everywhere, shared maps of local files."""

import mmap
import os

from .registry import case, equal, get, get_from, in_child, opened, put, refuses

LOCAL = ('.note.md.swp', 'foo.lock', 'note.md.tmp.12.ab12cd34ef56')


@case('a private map reads the file, and writing to it leaves the file')
def private(d):
    for name in ('a.md', *LOCAL):
        path = put(d, name, b'text' * 3000)
        with opened(path, os.O_RDONLY) as fd:
            with mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as view:
                equal(view[:], b'text' * 3000)
                view[0:4] = b'XXXX'
                equal(view[0:8], b'XXXXtext')
        equal(get(path), b'text' * 3000)


@case('a private map outlives the close and the name of the file')
def private_unlinked(d):
    path = put(d, 'a.md', b'text' * 3000)
    fd = os.open(path, os.O_RDONLY)
    view = mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
    os.close(fd)
    os.unlink(path)
    equal(view[:], b'text' * 3000)
    view.close()


@case('a shared map of a note is written to the file')
def shared_note(d):
    path = put(d, 'a.md', b'text')
    with opened(path, os.O_RDWR) as fd:
        with mmap.mmap(fd, 0, flags=mmap.MAP_SHARED) as view:
            view[0:1] = b'T'
            view.flush()
    equal(get(path), b'Text')


@shared_note.on_mount('notes are opened with direct I/O, so that a draft never leaks; only local files map shared')
def _(d):
    path = put(d, 'a.md', b'text')
    with opened(path, os.O_RDWR) as fd:
        refuses('ENODEV', mmap.mmap, fd, 0, flags=mmap.MAP_SHARED)
        refuses('ENODEV', mmap.mmap, fd, 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
    equal(get(path), b'text')


@case('a shared map of a local file is written to the file')
def shared_local(d):
    for name in LOCAL:
        path = put(d, name, bytes(10_000))
        with opened(path, os.O_RDWR) as fd:
            with mmap.mmap(fd, 0, flags=mmap.MAP_SHARED) as view:
                view[9_000:9_004] = b'text'
                view.flush()
                equal(os.pread(fd, 4, 9_000), b'text')
        equal(get(path), bytes(9_000) + b'text' + bytes(996))


@case('a shared map of a local file sees what write wrote')
def shared_write(d):
    path = put(d, 'foo.lock', b'old!' * 2000)
    with opened(path, os.O_RDWR) as fd:
        with mmap.mmap(fd, 0, flags=mmap.MAP_SHARED) as view:
            equal(view[4000:4004], b'old!')
            os.pwrite(fd, b'new!', 4000)
            equal(view[4000:4004], b'new!')


@case('two processes share memory through a local file')
def shared_processes(d):
    path = put(d, '.note.md.swp', bytes(4096))
    with opened(path, os.O_RDWR) as fd:
        with mmap.mmap(fd, 0, flags=mmap.MAP_SHARED) as view:

            def child():
                with opened(path, os.O_RDWR) as own, mmap.mmap(own, 0, flags=mmap.MAP_SHARED) as other:
                    other[100:105] = b'child'

            in_child(child)
            equal(view[100:105], b'child')
        equal(get_from(fd)[100:105], b'child')


@case('a shared map written without msync reaches the file at the end')
def shared_lazy(d):
    path = put(d, 'foo.lock', bytes(8192))

    def child():
        fd = os.open(path, os.O_RDWR)
        view = mmap.mmap(fd, 0, flags=mmap.MAP_SHARED)
        os.close(fd)
        view[5000:5004] = b'last'

    in_child(child)
    equal(get(path)[5000:5004], b'last')


@case('a writable shared map of a file opened for reading is refused with EACCES')
def shared_refused(d):
    with opened(put(d, 'foo.lock', b'text'), os.O_RDONLY) as fd:
        refuses('EACCES', mmap.mmap, fd, 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ | mmap.PROT_WRITE)
