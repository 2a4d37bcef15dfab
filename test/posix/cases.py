"""Runs the POSIX cases that Node.js cannot express: `python3 cases.py <folder> plain|mount`, or `--list`.

Each case gets an empty folder of its own, one level below the folder given. Prints one JSON line a case:
{"name": …, "ok": true} or {"name": …, "ok": false, "error": …}.
"""

import json
import os
import shutil
import signal
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from python import registry  # noqa: E402
from python import content, descriptors, drafts, folders, links, locks  # noqa: E402, F401
from python import mapping, modes, opening, rename, sessions, times  # noqa: E402, F401

SECONDS = 60


def too_late(_signal, _frame):
    raise TimeoutError(f'not done after {SECONDS} seconds')


def run_one(case, folder, place):
    os.mkdir(folder, 0o700)
    signal.alarm(SECONDS)
    try:
        case.run_on(place)(folder)
        return {'name': case.name, 'ok': True}
    except Exception:
        return {'name': case.name, 'ok': False, 'error': traceback.format_exc(limit=6)}
    finally:
        signal.alarm(0)
        os.chdir('/')
        clear(folder)


def clear(folder):
    # The first removal of a file that another session saved last leaves it (spec 4.7); the second takes it.
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(folder):
        shutil.rmtree(folder)


def main(arguments):
    if arguments == ['--list']:
        for case in registry.cases:
            print(case.name)
        return
    top, place = arguments
    if place not in ('plain', 'mount'):
        raise SystemExit('usage: cases.py <folder> plain|mount')
    signal.signal(signal.SIGALRM, too_late)
    os.umask(0o022)
    for index, case in enumerate(registry.cases):
        folder = os.path.join(top, f'p{index:03}')
        try:
            result = run_one(case, folder, place)
        except Exception as error:
            result = {'name': case.name, 'ok': False, 'error': f'could not make or clear its folder: {error!r}'}
        print(json.dumps(result), flush=True)


if __name__ == '__main__':
    main(sys.argv[1:])
