"""`cqc` in a process that kills itself at a chosen point of its way to a receiver, without a clock.

    python -m tests.integration.sinks.killed POINT PASS ARGUMENT...

POINT is one of `POINTS`, and PASS says at which passing of it the kill comes.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from cqc.cli.main import main
from cqc.runtime.receivers import sender, sink_delivery
from cqc.runtime.run.durable.checkpoint import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

POINTS = (
    "before_it_is_sent",
    "after_it_was_sent",
    "before_the_commit",
    "after_the_commit",
    "before_the_spool_is_kept",
    "after_the_spool_was_kept",
    "before_the_place_is_noted",
)


def install(point: str, passes: int) -> None:
    """Let the process end at a passing of a point."""
    left = [passes]

    def pass_by() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.killpg(os.getpgrp(), signal.SIGKILL)

    when, what = point.split("_", 1)
    places: dict[str, tuple[Any, str]] = {
        "it_is_sent": (sender, "_send"),
        "it_was_sent": (sender, "_send"),
        "the_commit": (Checkpoint, "commit"),
        "the_spool_is_kept": (sink_delivery.SinkDelivery, "keep"),
        "the_spool_was_kept": (sink_delivery.SinkDelivery, "keep"),
        "the_place_is_noted": (sender.Place, "note"),
    }
    owner, name = places[what]
    own: Callable[..., Any] = getattr(owner, name)

    def killed(*given: Any, **named: Any) -> Any:
        if when == "before":
            pass_by()
        answer = own(*given, **named)
        if when == "after":
            pass_by()
        return answer

    setattr(owner, name, killed)


if __name__ == "__main__":
    install(sys.argv[1], int(sys.argv[2]))
    sys.exit(main(sys.argv[3:]))
