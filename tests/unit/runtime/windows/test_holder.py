from __future__ import annotations

import pytest

from cqc.runtime.columns.event_time import ALL_SEEN
from tests.unit.runtime.windows.windows import Held

QUERIES = [
    "SELECT COUNT(*) AS n FROM TUMBLE(s, 10 SEC) GROUP BY window_end",
    "SELECT COUNT(*) AS n FROM SESSION(s, 10 SEC) GROUP BY window_end",
    "SELECT COUNT(*) OVER (PARTITION BY window_end) AS n FROM TUMBLE(s, 10 SEC)",
    "SELECT COUNT(*) OVER (RANGE 5 SEC PRECEDING) AS n FROM s",
    "SELECT x AS n FROM TUMBLE(s, 10 SEC)",
]


@pytest.mark.parametrize("text", QUERIES)
def test_every_holder_gives_each_row_once_and_says_what_it_holds(text: str) -> None:
    held = Held(text)
    assert held.decide(ALL_SEEN) == []
    held.take((1, "a", 1))
    assert held.holder.nbytes >= 0
    assert len(held.decide(ALL_SEEN)) == 1
    assert held.decide(ALL_SEEN) == []
    assert held.holder.failures == 0
