"""Threads that begin together and whose failures are the test's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def together(*works: Callable[[], Any]) -> list[Any]:
    """What each piece of work gives, all of them begun at once in threads of their own; raises what one of them raised."""
    begin = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        begin.wait(PATIENCE_S)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(run, work) for work in works]
        return [future.result(PATIENCE_S) for future in futures]


def dealt(rows: Sequence[Any], hands: int) -> list[list[Any]]:
    """The rows dealt out to so many hands."""
    return [list(rows[hand::hands]) for hand in range(hands)]
