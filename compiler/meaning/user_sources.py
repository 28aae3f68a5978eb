"""Sources that users registered: a name for `WITH (format = 'name')`, and what gives its rows.

They are registered for the whole process, like functions. The compiler only knows that there is such a format; what it takes in WITH
is the source's own matter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from cqc.compiler.diagnostics.arguments import expect, kind_of
from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.source_formats import FORMATS

# The options of WITH, and how many rows were taken before; gives rows, one by one or many together.
ReadRows = Callable[[dict[str, str], int], Iterable[Any]]


@record
class UserSource:
    """A registered source."""

    name: str
    read: ReadRows


_registered: dict[str, UserSource] = {}  # replaced and never changed: somebody may be reading it
_registering = threading.Lock()


def source(name: str, read: ReadRows) -> None:
    """Register a source of your own for `WITH (format = 'name')`, in this process; a second one of the same name replaces the first.

    Rows go to a file first and are read from there, so a run with a checkpoint loses none and repeats none, whatever the source is.

    Args:
        name: How programs call it.
        read: Called in a thread of its own with the options of WITH and with how many rows it has given in earlier starts with the
            same checkpoint (0 otherwise), so that it can go on after them. Gives rows: dicts, or lists of them, DataFrames, Arrow
            tables. The stream ends when it ends.

    Raises:
        TypeError: for arguments of another kind.
        ValueError: for a name that is empty, or that of a format of cqc's own.

    Example:
        >>> import cqc
        >>> def ticks(options, before):
        ...     for number in range(before, int(options["count"])):
        ...         yield {"ts": number, "x": number * number}
        >>> cqc.source("ticks", ticks)
        >>> program = cqc.compile('''
        ...     CREATE STREAM s (ts BIGINT, x BIGINT) WITH (format = 'ticks', count = '10');
        ...     SELECT x FROM s WHERE x > 50;
        ... ''')
    """
    expect(name, str, "cqc.source", "the name of the source first")
    if not callable(read):
        raise TypeError(f"cqc.source takes what can be called second, not {kind_of(read)}")
    if not name.strip():
        raise ValueError("a source needs a name")
    if name.lower() in FORMATS:
        raise ValueError(f"{name} is a format of cqc's own")
    global _registered
    with _registering:
        _registered = {**_registered, name.lower(): UserSource(name, read)}


def user_sources() -> Mapping[str, UserSource]:
    """What is registered at this moment, by name in lower case."""
    return MappingProxyType(_registered)
