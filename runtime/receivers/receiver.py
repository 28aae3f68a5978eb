"""What every receiver does: takes results in the order of their numbers, or says why not.

A receiver is one end of a connection, used by one thread. It need not remember anything: what it raises decides whether its sender
tries again or puts the results aside. One that can keep rows and a number in one transaction says by `stored` how far it is, and then
has every result exactly once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

AT_ONCE = 500  # results of one call, where a receiver says nothing else


@record
class Columns:
    """The columns of a query's results: names with types (`BIGINT`, ...), and the type of the result time."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    time_type: str


@record
class Sent:
    """One result on its way: its number in the spool, its id, its query, and its line of JSON (with the id)."""

    number: int
    id: str
    query: str
    line: str
    columns: Columns

    def value(self) -> dict[str, Any]:
        """The line as Python values."""
        read: dict[str, Any] = json.loads(self.line)
        return read


class UnreachableError(Exception):
    """The receiver did not answer, or not now: the same results are sent again.

    Attributes:
        after_s: not before so many seconds, when the receiver said so.
        taken: the numbers of results that it took all the same; they are not sent again.
        status: a number that the receiver gave as reason, if it did.
        tried: the numbers of those that it did not take; None: all that were not taken. `retries` counts for each by itself.

    Example:
        >>> import cqc
        >>> str(cqc.UnreachableError("the loft is closed", after_s=60))
        'the loft is closed'
    """

    def __init__(
        self,
        reason: str,
        after_s: float | None = None,
        taken: Collection[int] = (),
        *,
        status: int | None = None,
        tried: Collection[int] | None = None,
    ) -> None:
        super().__init__(reason)
        self.after_s = after_s
        self.taken = frozenset(taken)
        self.status = status
        self.tried = None if tried is None else frozenset(tried)


class RefusedError(Exception):
    """The receiver will never take these results: they become dead letters.

    Attributes:
        status: a number that the receiver gave as reason, if it did.
        refused: the numbers of these results; None: all that were not taken.
        taken: the numbers of results that it took all the same.

    Example:
        >>> import cqc
        >>> cqc.RefusedError("too heavy for a pigeon", status=413).status
        413
    """

    def __init__(
        self,
        reason: str,
        status: int | None = None,
        refused: Collection[int] | None = None,
        taken: Collection[int] = (),
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.refused = None if refused is None else frozenset(refused)
        self.taken = frozenset(taken)


class Receiver(Protocol):
    """One end of a connection. Single-threaded."""

    at_once: int

    def send(self, results: Sequence[Sent]) -> None:
        """Hand over results; when this returns they are there.

        Raises:
            UnreachableError: when it may be tried again later.
            RefusedError: when the receiver will never take these.
        """

    def stored(self) -> int | None:
        """The number of the last result that the receiver has; None where it does not keep that.

        Raises:
            UnreachableError: when it may be tried again later.
        """

    def close(self) -> None:
        """Let go of the connection."""


@runtime_checkable
class Ticking(Protocol):
    """A receiver that has something to do now and then, also while no result comes."""

    def tick(self) -> None:
        """Do it when it is time.

        Raises:
            UnreachableError: when it may be tried again later.
            RefusedError: when the receiver will never take this.
        """


@record
class Setting:
    """How a receiver is opened: its sink's name and options (secrets looked up), the program's name, and a folder for what it keeps.

    `folder` is None for a run without a checkpoint. Relative paths in options are relative to `base`. Numbers of results begin anew with
    another `run`: what a receiver has stored of an earlier one says nothing about this one.
    """

    sink: str
    options: Mapping[str, str]
    program: str
    base: str = "."
    folder: str | None = None
    run: str = ""
