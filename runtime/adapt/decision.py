"""A decision as plain data: which arm runs, since when it is known to be the right one, and the sentence that says so."""

from __future__ import annotations

from cqc.compiler.diagnostics.record import record


@record
class Decision:
    """What was decided about something, and by which figures.

    >>> Decision("join0", "runs as the tree ((a b) c)", "flat", 0.48, 2560, "tuples", is_measured=True).sentence
    'join0 runs as the tree ((a b) c): 0.48 of the cost of flat, measured over 2,560 tuples'
    """

    about: str
    does: str  # what it does now
    instead_of: str = ""  # the arm that it is compared with
    ratio: float | None = None  # its cost, for that of the other arm
    over: int = 0  # units of work that were measured
    unit: str = "tuples"
    is_measured: bool = False  # else expected
    note: str = ""

    @property
    def sentence(self) -> str:
        """For people."""
        reasons = []
        if self.ratio is not None:
            how = "measured" if self.is_measured else "expected"
            over = f" over {self.over:,} {self.unit}" if self.over else ""
            reasons.append(f"{self.ratio:.2g} of the cost of {self.instead_of}, {how}{over}")
        if self.note:
            reasons.append(self.note)
        return f"{self.about} {self.does}" + (f": {'; '.join(reasons)}" if reasons else "")


def counted(number: int, noun: str) -> str:
    """A number of things: 1 change, 2 changes."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def figure(number: float) -> str:
    """A number of which the first digits matter."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
