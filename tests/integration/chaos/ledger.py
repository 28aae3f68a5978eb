"""What was tried and what came of it: one table, and the one line that counts."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass

RIGHT = "right"  # went on, and the output was right
REFUSED = "refused"  # ended with one sentence, and went on right when the damage was undone
OUTCOMES = (RIGHT, REFUSED)
FAULTS = ("lost", "repeated", "silently wrong", "tracebacks", "wedged")
UNCLEAR = (
    "unclear"  # a refusal that does not name the file, or an exit code that says something else
)


@dataclass(eq=False)
class Fault(Exception):  # noqa: N818 - a fault of what is tried, no error of this program
    """Something that must never be: what kind, how many, and in which words."""

    kind: str
    count: int
    words: str

    def __str__(self) -> str:
        return f"{self.kind} {self.count}: {self.words}"


class Ledger:
    """Counts by engine and trouble; used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.episodes: Counter[str] = Counter()
        self.faults: list[str] = []

    def note(self, engine: str, trouble: str, outcome: str, count: int = 1) -> None:
        with self._lock:
            self._rows[engine, trouble]["tried"] += 1
            self._rows[engine, trouble][outcome] += count

    def fault(self, engine: str, trouble: str, fault: Fault, words: str) -> None:
        self.note(engine, trouble, fault.kind, fault.count)
        with self._lock:
            self.faults.append(words)

    def total(self, kind: str) -> int:
        with self._lock:
            return sum(row[kind] for row in self._rows.values())

    def tried(self, engine: str) -> Counter[str]:
        """How often each trouble was tried on an engine."""
        with self._lock:
            return Counter(
                {trouble: row["tried"] for (of, trouble), row in self._rows.items() if of == engine}
            )

    @property
    def is_clean(self) -> bool:
        return not any(map(self.total, (*FAULTS, UNCLEAR)))

    def table(self) -> str:
        columns = ("tried", *OUTCOMES, *FAULTS, UNCLEAR)
        head = ("engine", "trouble", *columns)
        lines = [
            (engine, trouble, *(str(row[column] or "") for column in columns))
            for (engine, trouble), row in sorted(self._rows.items())
        ]
        lines.append(("all", "", *(str(self.total(column)) for column in columns)))
        widths = [max(len(line[at]) for line in [head, *lines]) for at in range(len(head))]
        rule = tuple("-" * width for width in widths)
        return "\n".join(
            "  ".join(
                cell.ljust(width) if at < 2 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in [head, rule, *lines]
        )

    def verdict(self) -> str:
        return ", ".join(f"{kind} {self.total(kind)}" for kind in FAULTS)
