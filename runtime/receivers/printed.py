"""Results on standard output, and results that go nowhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cqc.runtime.receivers.receiver import AT_ONCE, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.receivers.receiver import Sent, Setting


class StdoutReceiver:
    """Prints lines, with the id of each result."""

    at_once = AT_ONCE

    def __init__(self, setting: Setting) -> None:
        del setting

    def send(self, results: Sequence[Sent]) -> None:
        try:
            sys.stdout.write("".join(f"{each.line}\n" for each in results))
            sys.stdout.flush()
        except (BrokenPipeError, ValueError) as error:
            raise RefusedError("standard output is closed") from error

    def stored(self) -> int | None:
        return None

    def close(self) -> None:
        """Standard output is not ours to close."""


class NoneReceiver:
    """Takes everything and keeps nothing."""

    at_once = AT_ONCE

    def __init__(self, setting: Setting) -> None:
        del setting

    def send(self, results: Sequence[Sent]) -> None:
        """Nothing is done with them."""

    def stored(self) -> int | None:
        return None

    def close(self) -> None:
        """Nothing is open."""
