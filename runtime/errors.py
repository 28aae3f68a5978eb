"""The ways in which a run can end early.

`RunError` is a sentence for the user (exit code 3). `OutputClosed` is no error at all: whoever read the results has gone,
as `cqc run ... | head` does, and the run ends quietly. Nor is `Halted`: somebody asked for it.
"""

from __future__ import annotations


class RunError(Exception):
    """The run cannot go on; the message is one clear sentence for the user.

    Example:
        >>> import cqc
        >>> engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT)"))
        >>> try:
        ...     engine.push("t", [])
        ... except cqc.RunError as error:
        ...     print(error)
        there is no stream or table t (there are: s)
    """


class ReentrantCallError(RunError):
    """Code that an engine calls has called the engine."""


class OutputClosed(Exception):  # noqa: N818 - it is an event, not an error
    """The reader of the results has closed its end of the pipe."""


class Halted(Exception):  # noqa: N818 - it was asked for
    """Everything has to stop: what was begun is not done, and the engine is not used any more."""


class LostSourceError(RunError):
    """What delivers the input has gone for good; nothing can go on without it."""
