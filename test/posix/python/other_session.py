"""A process in a POSIX session of its own, which does what it is told over a pair of pipes."""

import os
import pickle
import struct
import subprocess

from . import registry


def send(fd, value):
    data = pickle.dumps(value)
    os.write(fd, struct.pack('I', len(data)) + data)


def receive(fd):
    head = os.read(fd, 4)
    if len(head) < 4:
        raise EOFError('the other session has ended')
    (length,) = struct.unpack('I', head)
    data = b''
    while len(data) < length:
        data += os.read(fd, length - len(data))
    return pickle.loads(data)


def child_reads(path):
    """What a program started by this session reads."""
    return subprocess.run(['cat', path], check=True, capture_output=True).stdout


def fork_and_close(fd):
    """Starts a child that closes the inherited descriptor and ends."""
    registry.in_child(lambda: os.close(fd))


LOCAL_CALLS = {
    'get': registry.get,
    'get_from': registry.get_from,
    'put': registry.put,
    'child_reads': child_reads,
    'fork_and_close': fork_and_close,
}


def serve(requests, replies):
    while True:
        name, arguments = receive(requests)
        if name == 'end':
            return
        try:
            send(replies, (True, (LOCAL_CALLS.get(name) or getattr(os, name))(*arguments)))
        except Exception as error:
            send(replies, (False, error))


class OtherSession:
    """`with OtherSession() as other: other.open(path, flags)`: any function of `os`, or of LOCAL_CALLS, run there.

    Made before the case opens anything, so that it inherits nothing. It is forked twice and so has no parent in
    the calling session: whatever the ancestors of this program are, it is a session apart.
    """

    def __enter__(self):
        requests, replies = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            if os.fork() == 0:
                os.close(requests[1])
                os.close(replies[0])
                try:
                    serve(requests[0], replies[1])
                finally:
                    os._exit(0)
            os._exit(0)
        os.waitpid(pid, 0)
        os.close(requests[0])
        os.close(replies[1])
        self.requests, self.replies = requests[1], replies[0]
        return self

    def __getattr__(self, name):
        def call(*arguments):
            send(self.requests, (name, arguments))
            ok, value = receive(self.replies)
            if ok:
                return value
            raise value

        return call

    def __exit__(self, *_):
        try:
            send(self.requests, ('end', ()))
            # Read to the end of the pipe: its processes have closed everything by then.
            os.read(self.replies, 1)
        except BrokenPipeError:
            pass
        os.close(self.requests)
        os.close(self.replies)
