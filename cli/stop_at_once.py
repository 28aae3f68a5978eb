"""Ctrl-C and SIGTERM while there is nothing to clean up: the process ends, with the exit code of an interrupted run.

This is the first thing that the command loads, so it needs nothing that Python has not loaded already.
"""

from __future__ import annotations

import os
import signal

STOPS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130


def heard() -> list[signal.Signals]:
    """The signals that ask for a stop, without those that whoever started the process wants to be ignored."""
    return [number for number in STOPS if signal.getsignal(number) not in (signal.SIG_IGN, None)]


def end_on_interrupt() -> None:
    """There is nothing to clean up: a stop ends the process at once. Background jobs, which ignore Ctrl-C, go on ignoring it."""
    for number in heard():
        signal.signal(number, end_at_once)


def end_at_once(number: int, frame: object) -> None:
    """End the process where it stands."""
    del number, frame
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)
