"""How long until the next look: pauses double while looks win nothing, and begin small again when something changed."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Pause:
    """A pause in units of work, between `first` and `longest`."""

    first: int
    longest: int
    length: int = 0
    left: int = field(default=0, init=False)  # of a pause that was begun

    def __post_init__(self) -> None:
        self.length = self.length or self.first

    def longer(self, times: int = 2) -> None:
        """Wait longer from now on."""
        self.length = min(times * self.length, self.longest)

    def shortest(self) -> None:
        """Wait as short as at first."""
        self.length = self.first

    def begin(self) -> None:
        """Rest for the length of a pause; the next one is twice as long."""
        self.left = self.length
        self.longer()

    def is_over(self, units: int = 1) -> bool:
        """Whether the rest is over, after so many units more."""
        self.left -= units
        return self.left <= 0
