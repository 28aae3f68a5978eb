"""One command as a process tree of its own, timed from outside: `python -I -S launch.py CORES OUTPUT COMMAND...`.

The clock starts before the command and stops when it has ended, so that its start, reading, compiling and delivery all count.
CPU time is that of the command and of all its children, user and system. It is a process of its own because Linux hands the
peak memory of a large parent on to its children. CORES is how many cores the command may use, 0 for all. Needs nothing but the
standard library; prints one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import time


def launch(cores: int, errors: str, command: list[str]) -> dict[str, float]:
    """Run it to the end; what it writes goes to a file."""
    if cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    shown = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    actions = [(os.POSIX_SPAWN_DUP2, shown, 1), (os.POSIX_SPAWN_DUP2, shown, 2)]
    started = time.perf_counter()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, used = os.wait4(process, 0)
    return {
        "wall_s": time.perf_counter() - started,
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss / 1024,
        "code": os.waitstatus_to_exitcode(status),
    }


if __name__ == "__main__":
    print(json.dumps(launch(int(sys.argv[1]), sys.argv[2], sys.argv[3:])))
