"""Where the command `cqc` begins: Ctrl-C and SIGTERM are heard from here on, while the rest of it is still being loaded.

The milliseconds before belong to Python, which starts and looks for its packages: a Ctrl-C there is Python's to answer.
"""

from __future__ import annotations

from cqc.cli.stop_at_once import end_on_interrupt

end_on_interrupt()


def main() -> None:
    """Load the command line and run it."""
    import atexit

    from cqc.cli.interrupts import ignore_interrupts
    from cqc.cli.main import main as run

    atexit.register(ignore_interrupts)
    run()
