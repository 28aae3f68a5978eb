from __future__ import annotations

import pytest

from cqc.runtime.columns.event_time import ALL_SEEN
from tests.unit.runtime.windows.windows import Held


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("COUNT(*) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING)", [1, 1, 2, 3]),
        ("COUNT(x) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING)", [1, 0, 1, 2]),
        ("SUM(x) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING)", [3, None, 3, 8]),
        ("MIN(x) OVER (PARTITION BY k RANGE UNBOUNDED PRECEDING)", [3, None, 3, 3]),
        ("AVG(x) OVER (PARTITION BY k RANGE UNBOUNDED PRECEDING)", [3.0, None, 3.0, 4.0]),
        ("FIRST_VALUE(x) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING)", [3, None, 3, 3]),
        ("ROW_NUMBER() OVER (PARTITION BY k)", [1, 1, 2, 3]),
        ("RANK() OVER (ORDER BY ts)", [1, 2, 2, 4]),
        ("DENSE_RANK() OVER (ORDER BY ts)", [1, 2, 2, 3]),
    ],
)
def test_a_value_goes_on_where_it_was(call: str, expected: list[object]) -> None:
    held = Held(f"SELECT {call} AS o FROM s")
    found: list[object] = []
    for row in [(1, "a", 3), (2, "b", None), (2, "a", None), (5, "a", 5)]:
        held.take(row)  # type: ignore[arg-type]
        found += [value for _, value in held.decide(row[0])]
        held.restart()
    found += [value for _, value in held.decide(ALL_SEEN)]
    assert found == expected
