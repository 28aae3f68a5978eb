"""`cqc` as a process with all its children: started, watched, killed as a tree, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.integration.chaos.ledger import UNCLEAR, Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[3]
STOP_S = 30.0  # SIGTERM and Ctrl-C end a process within so long
KILLED_S = 60.0


class GivenUp(Exception):  # noqa: N818 - nothing is wrong
    """Somebody has interrupted: what is under way says nothing."""


class Watched:
    """One process at a time, its standard error in a log that all of them share."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.log.touch()
        self.process: subprocess.Popen[bytes] | None = None
        self._forbidden = False
        self._mark = 0  # where the log of the present process begins

    def start(
        self,
        arguments: Sequence[str],
        before: Sequence[str] = (),
        stdout: Path | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """Start `cqc`, or a module that becomes it (`before`)."""
        assert self.process is None, "the last one still runs"
        self._check_allowed()
        module = before or ("cqc.cli.main",)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("CQC_")
        }
        self._mark = self.log.stat().st_size
        with self.log.open("ab") as log:
            out: Any = subprocess.DEVNULL if stdout is None else stdout.open("ab")
            try:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", *module, *arguments],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=log,
                    env=environment,
                    start_new_session=True,
                    preexec_fn=lambda: hear_and(prepare),
                )
            finally:
                if stdout is not None:
                    out.close()

    def forbid(self) -> None:
        """Kill what runs and start nothing more."""
        self._forbidden = True
        if self.process is not None:
            self.signal_tree()

    def _check_allowed(self) -> None:
        if self._forbidden:
            raise GivenUp

    @property
    def is_running(self) -> bool:
        self._check_allowed()
        return self.process is not None and self.process.poll() is None

    def said(self) -> str:
        """What the present process has written to standard error, or the last one did."""
        with self.log.open("rb") as log:
            log.seek(self._mark)
            return log.read().decode(errors="replace")

    def kill(self) -> None:
        """SIGKILL to the whole tree at once, whatever groups its members have made for themselves."""
        if self.process is None:
            return
        self.signal_tree()
        self.process.wait(timeout=KILLED_S)
        self.process = None

    def signal_tree(self) -> None:
        assert self.process is not None
        for pid in reversed(tree(self.process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def kill_child(self, name: str) -> bool:
        """SIGKILL to one child alone, by the name of its program."""
        assert self.process is not None
        for pid in tree(self.process.pid)[1:]:
            with suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                    os.kill(pid, signal.SIGKILL)
                    return True
        return False

    def stop(self, with_signal: signal.Signals) -> int:
        """Ask it to end; the exit code.

        Raises:
            Fault: when it does not end.
        """
        assert self.process is not None
        self.process.send_signal(with_signal)
        try:
            code = self.process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Fault(
                "wedged", 1, f"no end within {STOP_S:.0f} s of {with_signal.name}"
            ) from None
        self.check_words()
        self.kill()  # what it may have left
        return code

    def ended(self) -> int:
        """The exit code of one that has ended by itself, and whose children have no reason to stay."""
        assert self.process is not None
        code = self.process.wait(timeout=KILLED_S)
        self.kill()
        return code

    def check_words(self) -> None:
        """No traceback, no internal error.

        Raises:
            Fault: when there is one.
        """
        said = self.said()
        for sign in ("Traceback (most recent call last)", "this is a bug in cqc"):
            if sign in said:
                at = said.index(sign)
                raise Fault("tracebacks", 1, " ".join(said[at : at + 600].split()))

    def check_refusal(self, code: int, names: Sequence[str]) -> None:
        """A refusal is exit code 3 and a sentence that names what is wrong.

        Raises:
            Fault: when it is something else.
        """
        self.check_words()
        said = self.said()
        # A broken query file was reported before, and left the run as it was.
        errors = [
            line
            for line in said.splitlines()
            if line.startswith("error: ") and not line.startswith("error: the program has errors")
        ]
        if code != 3 or len(errors) != 1:
            raise Fault(UNCLEAR, 1, f"exit code {code}, {len(errors)} errors: {said[-500:]!r}")
        if not any(name in errors[0] for name in names):
            raise Fault(UNCLEAR, 1, f"no word of {' or '.join(names)}: {errors[0]!r}")


def hear_and(prepare: Callable[[], None] | None) -> None:
    """In the new process: hear Ctrl-C, also where the harness was started as a job that ignores it, and `prepare`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if prepare is not None:
        prepare()


def tree(pid: int) -> list[int]:
    """A process and its descendants, parents first."""
    found = [pid]
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                for child in (task / "children").read_text().split():
                    found += tree(int(child))
    return found


def wait_for(condition: Callable[[], bool], limit_s: float, pause_s: float = 0.1) -> bool:
    """Whether something becomes true in time."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
    return True
