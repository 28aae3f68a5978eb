"""How those who work for a run hear that it was stopped: by a file beside what they were sent.

Spark ends the tasks of a run that is stopped, but a Python worker in the middle of a join hears nothing of it: Spark looks every two
seconds, waits for two more, and kills it then. In one process with the driver all share a folder, and there a file is seen at
once. Executors on other machines have folders of their own; they are left to Spark.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LOOK_S = 0.1
_STOPPED = "the run was stopped"


class StopFlag:
    """The file that says so.

    Args:
        spec: what executors were sent, which no other run has.
    """

    def __init__(self, spec: Path) -> None:
        self._path = spec.with_name(f"{spec.name}.stop")
        self._look_at = 0.0
        self._why = ""

    def show(self) -> None:
        """Let everybody stop who can see it."""
        self._path.touch()

    def __call__(self) -> str:
        """Why the work has to stop, if it has; the file is looked for now and then."""
        if not self._why and monotonic() >= self._look_at:
            self._look_at = monotonic() + LOOK_S
            self._why = _STOPPED if self._path.exists() else ""
        return self._why
