"""What a client may try on a mounted folder: hostile.py <what> <folder>. Prints what came of it in JSON."""

import errno
import json
import os
import sys

what, folder = sys.argv[1], os.fsencode(sys.argv[2])


def attempt(work):
    """The value as text, or the name of the error."""
    try:
        value = work()
        return "ok" if value is None else str(value)
    except OSError as error:
        return errno.errorcode[error.errno]


def make(path):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def padded(length):
    """A path below the folder that makes so many bytes with it."""
    left = length - len(folder) - 1
    return b"./" * ((left - 4) // 2) + b"p.md" + b"x" * ((left - 4) % 2)


def names():
    each = [byte for byte in range(1, 256) if byte != 0x2F]
    alone = {byte: attempt(lambda: make(folder + b"/" + bytes([byte]))) for byte in each}
    within = {byte: attempt(lambda: make(folder + b"/a" + bytes([byte]) + b"z")) for byte in each}
    listed = len(os.listdir(folder))
    long = {
        "255 bytes": b"n" * 255,
        "256 bytes": b"n" * 256,
        "255 bytes of two-byte letters and one": "é".encode() * 127 + b"x",
        "128 two-byte letters": "é".encode() * 128,
        "a path of 4095 bytes": padded(4095),
        "a path of 4096 bytes": padded(4096),
    }
    said = {name: attempt(lambda: make(folder + b"/" + path)) for name, path in long.items()}
    deep = b"/".join([b"level"] * 15)
    os.makedirs(folder + b"/" + deep)
    said["level 16"] = attempt(lambda: make(folder + b"/" + deep + b"/note.md"))
    os.mkdir(folder + b"/" + deep + b"/e")
    said["level 17"] = attempt(lambda: make(folder + b"/" + deep + b"/e/note.md"))
    return {"alone": alone, "within": within, "listed": listed, "long": said}


def offsets():
    path = folder + b"/note.md"
    fd = os.open(path, os.O_RDWR)
    said = {}
    for offset in [2**31, 2**32, 2**40, 2**53, 2**53 + 1, 2**63 - 1]:
        said[offset] = {
            "pread": attempt(lambda: os.pread(fd, 10, offset)) if offset < 2**63 - 1 else "b''",
            "lseek": attempt(lambda: os.lseek(fd, offset, os.SEEK_SET)),
            "pwrite": attempt(lambda: os.pwrite(fd, b"x", offset)),
            "ftruncate": attempt(lambda: os.ftruncate(fd, offset)),
            "truncate": attempt(lambda: os.truncate(path, offset)),
            "fallocate": attempt(lambda: os.posix_fallocate(fd, offset - 1, 1)),
        }
    os.close(fd)
    return said


def copies():
    text = os.urandom(300_000)
    with open(folder + b"/source.bin", "wb") as file:
        file.write(text)
    said = {}
    for name in ["copy_file_range", "sendfile", "splice"]:
        path = folder + b"/" + name.encode() + b".bin"
        source, target = os.open(folder + b"/source.bin", os.O_RDONLY), os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        ends = os.pipe()
        left = len(text)
        while left > 0:
            if name == "copy_file_range":
                done = os.copy_file_range(source, target, left)
            elif name == "sendfile":
                done = os.sendfile(target, source, None, left)
            else:
                done = os.splice(source, ends[1], min(left, 65536))
                moved = 0
                while moved < done:
                    moved += os.splice(ends[0], target, done - moved)
            if done == 0:
                break
            left -= done
        for fd in [source, target, *ends]:
            os.close(fd)
        with open(path, "rb") as file:
            said[name] = file.read() == text
    return said


json.dump({"names": names, "offsets": offsets, "copies": copies}[what](), sys.stdout)
