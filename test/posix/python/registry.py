"""The list of cases, and what most of them need."""

import ctypes
import errno
import os

cases = []
libc = ctypes.CDLL(None, use_errno=True)


class Case:
    """One promise about files, as a function over an empty folder. `why` and `instead` hold on a mount."""

    def __init__(self, name, run):
        self.name = name
        self.run = run
        self.why = None
        self.instead = None

    def on_mount(self, why):
        """Gives the rule by which a mount differs, and the function that asserts what is promised there."""

        def add(instead):
            self.why = why
            self.instead = instead
            return instead

        return add

    def run_on(self, place):
        return self.instead if place == 'mount' and self.instead else self.run


def case(name):
    """Registers the function below it under this name."""

    def add(run):
        assert all(other.name != name for other in cases), f'two cases are named {name}'
        cases.append(Case(name, run))
        return cases[-1]

    return add


def refuses(code, call, *arguments, **options):
    """Asserts that a call fails with this errno name (or one of several)."""
    wanted = [code] if isinstance(code, str) else list(code)
    try:
        value = call(*arguments, **options)
    except OSError as error:
        got = errno.errorcode[error.errno]
        assert error.errno in [getattr(errno, name) for name in wanted], f'expected {wanted}, got {got}'
        return
    raise AssertionError(f'expected {wanted}, but the call returned {value!r}')


def equal(got, wanted):
    assert got == wanted, f'expected {wanted!r}, got {got!r}'


def checked(result):
    """Turns the result of a libc call into a value or an OSError."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def link_open_file(fd, path):
    """Names an open file, as `linkat` through /proc does; `os.link` does not follow there."""
    return checked(libc.linkat(-100, b'/proc/self/fd/%d' % fd, -100, os.fsencode(path), 0x400))


def put(folder, name, data=b''):
    path = os.path.join(folder, name)
    with open(path, 'wb', buffering=0) as file:
        file.write(data)
    return path


def get(path):
    """Reads a file through a fresh open."""
    fd = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b''.join(parts)
    finally:
        os.close(fd)


def get_from(fd, count=1 << 16):
    """Reads from the start of an open file, leaving its position."""
    return os.pread(fd, count, 0)


class opened:
    """`with opened(path, flags) as fd`: closes whatever happens."""

    def __init__(self, path, flags, mode=0o644):
        self.fd = os.open(path, flags, mode)

    def __enter__(self):
        return self.fd

    def __exit__(self, *_):
        try:
            os.close(self.fd)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise


def in_child(work):
    """Runs `work` in a forked child of this session and asserts that it went well."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    equal(os.waitstatus_to_exitcode(status), 0)
