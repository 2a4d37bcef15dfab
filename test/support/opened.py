"""Runs a command, and prints the names in a folder that anybody opened meanwhile: inotify(7).

Usage: opened.py FOLDER COMMAND...
"""
import ctypes
import os
import struct
import subprocess
import sys

IN_OPEN = 0x20

libc = ctypes.CDLL(None, use_errno=True)
watcher = libc.inotify_init1(os.O_NONBLOCK)
if libc.inotify_add_watch(watcher, sys.argv[1].encode(), IN_OPEN) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
subprocess.run(sys.argv[2:], check=True, stdout=subprocess.DEVNULL)
names = set()
while True:
    try:
        events = os.read(watcher, 65536)
    except BlockingIOError:
        break
    at = 0
    while at < len(events):
        length = struct.unpack_from("iIII", events, at)[3]
        names.add(events[at + 16 : at + 16 + length].rstrip(b"\0").decode())
        at += 16 + length
print(" ".join(sorted(names - {""})))
