"""What two sessions see of each other's saves, names and times."""

import os

from .other_session import OtherSession
from .registry import case, equal, get, get_from, opened, put, refuses


@case('sessions: what one saved, the other finds by open, stat and list')
def saved(d):
    with OtherSession() as other:
        for round in range(20):
            text = b'round %d' % round * (round + 1)
            path = other.put(d, f'{round % 3}.md', text)
            equal(get(path), text)
            equal(os.stat(path).st_size, len(text))
            equal(sorted(os.listdir(d)), [f'{n}.md' for n in range(min(round + 1, 3))])
            put(d, 'back.md', text)
            equal(other.get(f'{d}/back.md'), text)
            os.unlink(f'{d}/back.md')
            refuses('ENOENT', other.stat, f'{d}/back.md')


@case('sessions: a reader keeps the file that was replaced by a rename or removed')
def replaced(d):
    path = put(d, 'a.md', b'old')
    with OtherSession() as other, opened(path, os.O_RDONLY) as fd:
        other.put(d, 'a.md.tmp.1.ab12cd34ef56', b'new')
        other.rename(f'{d}/a.md.tmp.1.ab12cd34ef56', path)
        equal((get_from(fd), get(path)), (b'old', b'new'))
        other.unlink(path)
        equal(get_from(fd), b'old')
        refuses('ENOENT', os.stat, path)


@case('sessions: O_EXCL has one winner')
def exclusive(d):
    for name in ('a.md', 'foo.lock'):
        path = f'{d}/{name}'
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with OtherSession() as other:
            fd = other.open(path, flags)
            refuses('EEXIST', os.open, path, flags)
            other.close(fd)
            refuses('EEXIST', os.open, path, flags)
            other.unlink(path)
            os.close(os.open(path, flags))
            refuses('EEXIST', other.open, path, flags)


@case('sessions: mkdir has one winner, and names are shared at once')
def shared_names(d):
    with OtherSession() as other:
        other.mkdir(f'{d}/sub')
        refuses('EEXIST', os.mkdir, f'{d}/sub')
        put(f'{d}/sub', 'a.md', b'text')
        refuses('ENOTEMPTY', other.rmdir, f'{d}/sub')
        other.rename(f'{d}/sub', f'{d}/moved')
        equal(os.listdir(d), ['moved'])
        refuses('ENOENT', os.stat, f'{d}/sub/a.md')
        equal(get(f'{d}/moved/a.md'), b'text')
        os.unlink(f'{d}/moved/a.md')
        other.rmdir(f'{d}/moved')
        equal(os.listdir(d), [])


@case('sessions: a note saved under a rename by another session ends under the new name')
def renamed(d):
    path = put(d, 'a.md', b'old')
    with OtherSession() as other:
        fd = other.open(path, os.O_RDWR)
        other.pwrite(fd, b'OLD', 0)
        os.rename(path, f'{d}/b.md')
        other.close(fd)
        equal((os.listdir(d), get(f'{d}/b.md')), (['b.md'], b'OLD'))


@case('sessions: unlink removes what another session wrote since')
def newer(d):
    path = put(d, 'a.md', b'known')
    with OtherSession() as other:
        equal(other.get(path), b'known')
        put(d, 'a.md', b'newer')
        other.unlink(path)
        refuses('ENOENT', os.stat, path)


@newer.on_mount('unlink leaves a newer head that another session saved and this one does not know (spec 4.7)')
def _(d):
    path = put(d, 'a.md', b'known')
    with OtherSession() as other:
        equal(other.get(path), b'known')
        put(d, 'a.md', b'newer')
        other.unlink(path)
        equal((get(path), other.get(path)), (b'newer', b'newer'))
        equal(os.listdir(d), ['a.md'])
        other.unlink(path)
        refuses('ENOENT', os.stat, path)
        refuses('ENOENT', other.stat, path)


@case('sessions: the time that others see rises with a save')
def time_rises(d):
    path = put(d, 'a.md', b'old')
    with OtherSession() as other:
        last = os.stat(path).st_mtime_ns
        for round in range(20):
            other.put(d, 'a.md', b'round %d' % round)
            now = os.stat(path).st_mtime_ns
            assert now >= last
            last = now


@time_rises.on_mount('every change of content raises the time above every one shown before (spec 3.8)')
def _(d):
    path = put(d, 'a.md', b'old')
    with OtherSession() as other:
        last = os.stat(path).st_mtime_ns
        for round in range(20):
            writer = other if round % 2 else None
            writer.put(d, 'a.md', b'round %d' % round) if writer else put(d, 'a.md', b'round %d' % round)
            shown = (os.stat(path).st_mtime_ns, other.stat(path).st_mtime_ns)
            equal(shown[0], shown[1])
            assert shown[0] > last, 'the time did not rise'
            last = shown[0]


@case('sessions: truncate by path is seen at once')
def truncated(d):
    path = put(d, 'a.md', b'abcdef')
    with OtherSession() as other:
        other.truncate(path, 3)
        equal((get(path), os.stat(path).st_size), (b'abc', 3))


@case('sessions: the close that comes later is in the file')
def later(d):
    path = put(d, 'a.md', b'base\n')
    with OtherSession() as other:
        one = other.open(path, os.O_RDWR | os.O_APPEND)
        two = os.open(path, os.O_RDWR | os.O_APPEND)
        other.write(one, b'other\n')
        os.write(two, b'own\n')
        other.close(one)
        os.close(two)
        lines = get(path).splitlines()
        assert b'base' in lines and b'own' in lines, lines
        equal(other.get(path), get(path))
