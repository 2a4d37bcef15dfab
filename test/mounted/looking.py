# Looks at a memory folder in many ways, again and again, until a file is there. Prints as JSON how many rounds it made since a
# first file was there, and what it has seen in these that it should not have: what is there ("hidden"), or that something
# is not ("shown"). Arguments: "hidden" or "shown", the folder, the first file, the last file.
import collections, json, os, sys, time

expected, folder, first, last = sys.argv[1:]
name = os.path.join(folder, "MEMORY.md")
below = os.path.join(folder, "sub", "deep.md")


def opened(path, flags):
    fd = os.open(path, flags)
    try:
        return flags & os.O_PATH or os.read(fd, 100)
    finally:
        os.close(fd)


def renamed():
    os.rename(name, name)
    return True


looks = {
    "list": lambda: "MEMORY.md" in os.listdir(folder),
    "list below": lambda: os.listdir(os.path.join(folder, "sub")),
    "scan": lambda: any(entry.name == "sub" and entry.stat() for entry in os.scandir(folder)),
    "stat": lambda: os.stat(name).st_size > 0,
    "stat below": lambda: os.stat(below).st_size > 0,
    "exists": lambda: os.access(name, os.F_OK),
    "path only": lambda: opened(name, os.O_PATH),
    "path only below": lambda: opened(below, os.O_PATH),
    "read": lambda: opened(name, os.O_RDONLY),
    "read below": lambda: opened(below, os.O_RDONLY),
    "write": lambda: opened(name, os.O_RDWR),
    "rename": renamed,
    "links": lambda: os.stat(folder).st_nlink > 2,
    "files": lambda: os.statvfs(folder).f_files > os.statvfs(folder).f_ffree,
}


def saw(look):
    try:
        return bool(look())
    except OSError:
        return False


wrong, rounds = collections.Counter(), 0
while not os.path.exists(last):
    for key, look in looks.items():
        counts = expected == "shown" or os.path.exists(first)
        if saw(look) != (expected == "shown") and counts:
            wrong[key] += 1
    rounds += os.path.exists(first)
print(json.dumps({"rounds": rounds, "wrong": wrong}))
