"""Where the command `cqc` begins: Ctrl-C and SIGTERM are heard from here on, while the rest of it is still being loaded.

The milliseconds before belong to Python, which starts and looks for its packages, and would answer a Ctrl-C with a traceback. The
launcher (cli/launcher/cqc) holds it back for so long, and this module lets it through. Whatever is loaded up to here is as little as can
be, so that nobody waits for the answer.
"""

from cqc.cli.stop_at_once import INTERRUPTED, end_on_interrupt

end_on_interrupt()


def main() -> None:
    """Load the command line and run it.

    Nobody waits until Python has taken itself apart, which takes 0.4 CPU-s once Numba and pyarrow are loaded: what is there to be
    closed is closed, and what was written is written. Where threads are still at work, or Spark, Python ends as it always does.
    """
    import atexit
    import os
    import sys

    from cqc.cli.interrupts import ignore_interrupts
    from cqc.cli.main import main as run

    atexit.register(ignore_interrupts)
    try:
        run()
    except SystemExit as ended:
        if ended.code != INTERRUPTED and _has_company():
            raise
        if not isinstance(ended.code, int):
            raise
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(ended.code)


def _has_company() -> bool:
    """Whether something runs beside this thread that wants to end in its own way."""
    import sys
    import threading

    return threading.active_count() > 1 or "pyspark" in sys.modules
