"""Where the command `cqc` begins: Ctrl-C and SIGTERM are heard from here on, while the rest of it is still being loaded.

The milliseconds before belong to Python, which starts and looks for its packages: a Ctrl-C there is Python's to answer, and it
does so with a traceback. No code of ours runs before; so whatever is loaded up to here is as little as can be.
"""

from cqc.cli.stop_at_once import INTERRUPTED, end_on_interrupt

end_on_interrupt()


def main() -> None:
    """Load the command line and run it.

    Who asked for a stop does not wait until Python has taken itself apart, which takes longer than the stop: what is there to be
    closed is closed, and what was written is written.
    """
    import atexit
    import os

    from cqc.cli.interrupts import ignore_interrupts
    from cqc.cli.main import main as run

    atexit.register(ignore_interrupts)
    try:
        run()
    except SystemExit as ended:
        if ended.code != INTERRUPTED:
            raise
        atexit._run_exitfuncs()
        os._exit(INTERRUPTED)
