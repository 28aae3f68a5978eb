"""How a run is asked for: the options of `cqc run` as data, shared by both engines."""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.physical.strategy import Strategy

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.source import SourceFile

MOST_INSTANTS = 1_000_000  # of a query with EVERY, one after the other without a row
DRAIN_S = 300.0
SINKS = {  # the kinds of sink, and how the names of their files end
    "jsonl": "jsonl",
    "csv": "csv",
    "parquet": "parquet",
    "table": "txt",
    "none": "",
}


@record
class RunOptions:
    """Where data comes from, where results go, and what happens to what is wrong."""

    programs: tuple[
        str, ...
    ] = ()  # as named by the user: a folder among them can change while it is followed
    sources: tuple[tuple[SourceFile, str], ...] = ()  # what of them was compiled
    stamp: tuple[tuple[str, int, int], ...] | None = None  # of their files, before they were read
    binds: dict[str, str] = field(default_factory=dict)  # declared name -> path
    engine: str = "local"
    sink: str = "jsonl"
    out: str | None = None
    follow: bool = False
    checkpoint: str | None = None
    at_us: int | None = None
    only: tuple[str, ...] = ()
    late: str | None = None
    rejects: str | None = None
    strict: bool = False
    stats: str | None = None
    distribute: bool = False
    partitions: int | None = None  # of a distributed run; as many as there are cores by default
    master: str | None = None
    rows_per_batch: int | None = None
    max_instants: int = MOST_INSTANTS  # of a query with EVERY, one after the other without a row
    strategy: Strategy = field(default_factory=Strategy)
    name: str | None = None  # of the program, for the ids of results
    drain_s: float = DRAIN_S  # how long a run that is done waits for the receivers of its sinks

    @property
    def program_name(self) -> str:
        """The name of the program, which is part of the ids of its results."""
        if self.name is not None:
            return self.name
        files = [name for name in self.programs if name != "-"]
        return Path(files[0]).stem if files else "cqc"

    @property
    def is_live(self) -> bool:
        """Whether queries may come and go: a folder of programs is followed."""
        return self.follow and any(Path(name).is_dir() for name in self.programs)


_TIMESTAMP_LITERAL = re.compile(r"\s*TIMESTAMP\s*'([^']*)'\s*", re.IGNORECASE)


def parse_packet(text: str) -> int | None:
    """`auto` or a number of tuples.

    Raises:
        ValueError: for anything else.
    """
    if text == "auto":
        return None
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise ValueError(f"--packet wants auto or a number of tuples, not {text!r}")
    return int(text)


def parse_instant(text: str) -> int:
    """An instant in microseconds: a number of seconds (numeric event time), ISO 8601 text, or that as programs write it.

    Raises:
        ValueError: for anything else.
    """
    from cqc.compiler.meaning.times.instants import parse_instant as parse_text

    try:
        return round(float(text) * 1_000_000)
    except (ValueError, OverflowError):
        literal = _TIMESTAMP_LITERAL.fullmatch(text)
        instant = parse_text(text if literal is None else literal[1])
    if instant is None:
        raise ValueError(
            f"--at wants an instant such as 2024-01-01T00:00:00Z or a number of seconds, not {text!r}"
        )
    return instant
