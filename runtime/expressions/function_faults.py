"""What went wrong in functions that users registered: how often, and the first few times what and where.

A function that raises, or gives back what cannot be used, costs the tuple its value and nothing else (`user_functions`), so
whoever wrote it must be told. An engine keeps a `FunctionFaults`; while a thread is at work for the engine, faults are noted there.
Evaluation is deep inside operators that know no engine, so a thread remembers for whom it works:

    faults = FunctionFaults()
    with noted_in(faults):
        ...evaluate...
    faults.sentences()   # ['1 evaluation of the function f failed and gave NULL: ValueError: no luck (alarms.py:12)']
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.record import record
from cqc.runtime.errors import ReentrantCallError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_MOST_SHOWN = 3  # different faults of one function
_LONGEST = 200  # characters of a message


@record
class Fault:
    """What happened, and where in the user's code (`file:line`, empty where nobody knows)."""

    error: str
    at: str = ""

    def __str__(self) -> str:
        return f"{self.error} ({self.at})" if self.at else self.error


@dataclass(slots=True)
class FaultsOfOne:
    """The faults of one function."""

    failed: int = 0
    first: list[Fault] = field(default_factory=list)


@dataclass(slots=True)
class FunctionFaults:
    """The faults of all functions, by name."""

    of: dict[str, FaultsOfOne] = field(default_factory=dict)
    reentered: str = ""  # the sentence for a function that called the engine which called it

    @property
    def count(self) -> int:
        """Evaluations that failed."""
        return sum(each.failed for each in self.of.values())

    def note(self, function: str, failed: int, describe: Callable[[], Fault]) -> None:
        """Count evaluations that failed; why is asked only while there are few reasons."""
        own = self.of.setdefault(function, FaultsOfOne())
        own.failed += failed
        if len(own.first) < _MOST_SHOWN:
            fault = describe()
            if fault not in own.first:
                own.first.append(fault)

    def add(self, other: FunctionFaults) -> None:
        """What was noted elsewhere."""
        for name, faults in other.of.items():
            own = self.of.setdefault(name, FaultsOfOne())
            own.failed += faults.failed
            new = [fault for fault in faults.first if fault not in own.first]
            own.first += new[: _MOST_SHOWN - len(own.first)]

    def take(self) -> FunctionFaults:
        """What was noted so far; from now on it is counted anew."""
        taken = FunctionFaults(self.of)
        self.of = {}
        return taken

    def sentences(self) -> list[str]:
        """One for each function that failed."""
        return [_sentence(name, faults) for name, faults in self.of.items()]

    def raise_reentered(self) -> None:
        """Tell whoever called the engine that a function has called it from inside."""
        sentence, self.reentered = self.reentered, ""
        if sentence:
            raise ReentrantCallError(sentence)

    def to_json(self) -> dict[str, Any]:
        return {name: asdict(faults) for name, faults in self.of.items()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> FunctionFaults:
        return FunctionFaults(
            {
                name: FaultsOfOne(given["failed"], [Fault(**fault) for fault in given["first"]])
                for name, given in data.items()
            }
        )


def shortened(text: str) -> str:
    """The first line of a text, cut where it is long."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "..."


def _sentence(name: str, faults: FaultsOfOne) -> str:
    evaluations = "1 evaluation" if faults.failed == 1 else f"{faults.failed:,} evaluations"
    reasons = "; ".join(map(str, faults.first))
    return f"{evaluations} of the function {name} failed and gave NULL: {reasons}"


class AtWork(threading.local):
    """For whom this thread works."""

    faults: FunctionFaults | None = None


at_work = AtWork()


def current() -> FunctionFaults | None:
    """Where faults of this thread are noted; None: nowhere."""
    return at_work.faults


def switch(faults: FunctionFaults | None) -> FunctionFaults | None:
    """Note faults of this thread elsewhere from now on; where they were noted before."""
    before, at_work.faults = at_work.faults, faults
    return before


@contextmanager
def noted_in(faults: FunctionFaults | None) -> Iterator[None]:
    """Let faults of this thread be noted here (None: nowhere) for a while."""
    before = switch(faults)
    try:
        yield
    finally:
        switch(before)
