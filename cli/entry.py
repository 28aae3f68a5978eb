"""Where the command `cqc` begins: Ctrl-C is heard from here on, while the rest of it is still being loaded."""

from __future__ import annotations

import atexit
import signal

from cqc.cli.interrupts import end_on_interrupt


def main() -> None:
    """Load the command line and run it."""
    end_on_interrupt()
    # While Python takes itself apart signals do what they do to any process: it would end by one, with all work done.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    from cqc.cli.main import main as run

    run()
