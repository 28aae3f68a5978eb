"""Ctrl-C and SIGTERM while there is nothing to clean up: the process ends, with the exit code of an interrupted run.

This is the first thing that the command loads, and until it is loaded a Ctrl-C waits (cli/launcher/cqc). So it needs nothing
that Python has not loaded already: `_signal` is the part of `signal` that is built in; `signal` itself loads `enum` and with it
ten modules more, for names that are not needed here.
"""

import _signal  # type: ignore[import-not-found]  # built in, and without a stub
import os

STOPS = (_signal.SIGINT, _signal.SIGTERM)
INTERRUPTED = 130


def heard() -> list[int]:
    """The signals that ask for a stop, without those that whoever started the process wants to be ignored."""
    return [number for number in STOPS if _signal.getsignal(number) not in (_signal.SIG_IGN, None)]


def end_on_interrupt() -> None:
    """There is nothing to clean up: a stop ends the process at once. Background jobs, which ignore Ctrl-C, go on ignoring it."""
    for number in heard():
        _signal.signal(number, end_at_once)
    # The launcher has held Ctrl-C back until now; one that came in the meantime is heard in this line.
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {_signal.SIGINT})


def end_at_once(number: int, frame: object) -> None:
    """End the process where it stands."""
    del number, frame
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)
