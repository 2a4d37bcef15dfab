# A program that holds on to a memory folder in every way it can: files open for reading and writing, mapped, made, and put
# aside, folders open, being listed, and worked in. When told to, it tries what it still gets, and prints that as JSON.
# Arguments: the folder, a file that it makes when it has hold of everything, and a file that it waits for.
import ctypes, errno, json, mmap, os, signal, stat, sys, time

folder, ready, go = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
at = lambda name: os.path.join(folder, name)
GETDENTS64 = {"x86_64": 217, "aarch64": 61}[os.uname().machine]


def listed(fd, size):
    """Names of one call of getdents64(2)."""
    room = ctypes.create_string_buffer(size)
    length = libc.syscall(GETDENTS64, fd, room, size)
    if length < 0:
        raise OSError(ctypes.get_errno(), "getdents64")
    names, place = [], 0
    while place < length:
        record = int.from_bytes(room.raw[place + 16 : place + 18], "little")
        names.append(room.raw[place + 19 : place + record].split(b"\0")[0].decode())
        place += record
    return names


def all_listed(fd):
    names = []
    while more := listed(fd, 32768):
        names += more
    return sorted(names)


def outcome(work):
    try:
        return work()
    except OSError as error:
        return errno.errorcode[error.errno]


def touched(page):
    """What a child sees in a page of a file that was mapped before: a signal may end it."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(into, page(mapped))
        os._exit(0)
    os.close(into)
    seen = os.read(out, 4096)
    _, status = os.waitpid(child, 0)
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else seen.decode()


reader = os.open(at("MEMORY.md"), os.O_RDONLY)
os.pread(reader, 2, 0)
big = os.open(at("big.md"), os.O_RDONLY)
mapped = mmap.mmap(big, 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
first = mapped[0:4]
root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
scan = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
listed(scan, 128)
sub = os.open(at("sub"), os.O_RDONLY | os.O_DIRECTORY)
subscan = os.open(at("sub"), os.O_RDONLY | os.O_DIRECTORY)
listed(subscan, 64)
os.chdir(at("sub"))
path_only = os.open(at("MEMORY.md"), os.O_PATH)
draft = os.open(at("draft.md"), os.O_WRONLY | os.O_APPEND)
os.write(draft, b"- half of a line")
made = os.open(at("made.md"), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
os.write(made, b"never closed")
aside = os.open(at("MEMORY.md.tmp.1.0123456789ab"), os.O_WRONLY | os.O_CREAT)
os.write(aside, b"never put in its place")
open(ready, "w").close()
while not os.path.exists(go):
    time.sleep(0.02)

say = {
    "listing": outcome(lambda: sorted(os.listdir(folder))),
    "rest of a listing": outcome(lambda: [n for n in all_listed(scan)]),
    "rest of a listing of a folder": outcome(lambda: all_listed(subscan)),
    "rewound": outcome(lambda: (os.lseek(scan, 0, 0), all_listed(scan))[1]),
    "by a descriptor": outcome(lambda: all_listed(root)),
    "working folder": outcome(lambda: os.listdir(".")),
    "parent of it": outcome(lambda: os.listdir("..")),
    "a name in it": outcome(lambda: os.stat("deep.md").st_size),
    "stat": outcome(lambda: os.stat(at("MEMORY.md")).st_size),
    "stat below": outcome(lambda: os.stat(at("sub/deep.md")).st_size),
    "access": outcome(lambda: libc.access(at("MEMORY.md").encode(), 0)),
    "path only": outcome(lambda: os.open(at("MEMORY.md"), os.O_PATH)),
    "open": outcome(lambda: os.open(at("MEMORY.md"), os.O_RDONLY)),
    "open again": outcome(lambda: os.open(f"/proc/self/fd/{reader}", os.O_RDONLY)),
    "open by a path only": outcome(lambda: os.open(f"/proc/self/fd/{path_only}", os.O_RDONLY)),
    "at a folder": outcome(lambda: os.open("deep.md", os.O_RDONLY, dir_fd=sub)),
    "read": outcome(lambda: os.pread(reader, 100, 0).decode()),
    "read on": outcome(lambda: os.read(reader, 100).decode()),
    "size": outcome(lambda: os.fstat(reader).st_size),
    "end": outcome(lambda: os.lseek(reader, 0, os.SEEK_END)),
    "size of the draft": outcome(lambda: os.fstat(draft).st_size),
    "mapped, seen before": touched(lambda page: page[0:4]),
    "mapped, not seen": touched(lambda page: page[8192:8196]),
    "times of the folder": outcome(lambda: [str(os.stat(folder).st_mtime_ns), str(os.stat(folder).st_ctime_ns)]),
    "links of the folder": outcome(lambda: os.stat(folder).st_nlink),
    "files": outcome(lambda: os.statvfs(folder).f_files - os.statvfs(folder).f_ffree),
    "blocks": outcome(lambda: os.statvfs(folder).f_blocks - os.statvfs(folder).f_bfree),
    "write": outcome(lambda: os.write(draft, b"\n")),
    "cut": outcome(lambda: os.ftruncate(draft, 0)),
    "write what was made": outcome(lambda: os.write(made, b"!")),
    "put in place": outcome(lambda: os.rename(at("MEMORY.md.tmp.1.0123456789ab"), at("MEMORY.md"))),
    "remove": outcome(lambda: os.unlink(at("MEMORY.md"))),
    "close": [outcome(lambda: os.close(fd)) for fd in (draft, made, aside, reader)],
    "make in the old folder": outcome(lambda: os.open("fresh.md", os.O_WRONLY | os.O_CREAT)),
    "same mode": stat.S_IMODE(os.stat(folder).st_mode),
}
print(json.dumps(say))
