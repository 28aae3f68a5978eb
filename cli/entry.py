"""Where the command `cqc` begins: Ctrl-C and SIGTERM are heard from here on, while the rest of it is still being loaded."""

from __future__ import annotations

import atexit

from cqc.cli.interrupts import end_on_interrupt, ignore_interrupts


def main() -> None:
    """Load the command line and run it."""
    end_on_interrupt()
    atexit.register(ignore_interrupts)
    from cqc.cli.main import main as run

    run()
