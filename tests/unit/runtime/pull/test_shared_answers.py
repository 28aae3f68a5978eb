"""Groups and first rows that are made for many queries at once are those of each."""

from __future__ import annotations

import numpy as np
import pytest

import cqc
from cqc.runtime.pull.shared_answers import SharedFirsts
from cqc.runtime.pull.shared_rows import SharedRows

STREAMS = "CREATE STREAM a (ts BIGINT, k BIGINT, v BIGINT); CREATE STREAM b (ts BIGINT, k BIGINT, x BIGINT);"
JOIN = "FROM a, b WHERE a.k = b.k AND a.v > {}"
MOST = f"SELECT a.k, MAX(b.x) AS m, COUNT(*) AS n {JOIN} BEGIN 0 END NOW GROUP BY a.k, a.v MAXWINDOW 60 SEC"
MIXED = f"SELECT b.x, SUM(a.v) AS s {JOIN} BEGIN 0 END NOW GROUP BY b.x MAXWINDOW 60 SEC"
FIRSTS = "SELECT k, x FROM w{} BEGIN 0 END NOW QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC, v) = 1"
VIEW = f"CREATE VIEW w{{}} AS SELECT a.k, a.v, b.x {JOIN} MAXWINDOW 60 SEC;"
ROWS_A = [{"ts": at, "k": at % 3, "v": at} for at in range(40)]
ROWS_B = [{"ts": 40 + at, "k": at % 3, "x": at % 7} for at in range(20)]


def answers(form: str, count: int) -> list[list[str]]:
    views = (
        "".join(VIEW.format(number, number) for number in range(count)) if " w{}" in form else ""
    )
    running = cqc.Engine(cqc.compile(STREAMS + views))
    for number in range(count):
        running.register(form.format(number), f"q{number}")
    running.push("a", ROWS_A)
    running.push("b", ROWS_B)
    found = [running.invoke(f"q{number}").to_pylist() for number in range(count)]
    return [sorted(map(str, each)) for each in found]


@pytest.mark.parametrize("form", [MOST, MIXED, FIRSTS])
def test_each_query_has_its_own_of_what_is_made_for_all(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    together = SharedRows.together

    def noted(self, number, key, rows, make):  # type: ignore[no-untyped-def]
        made.append(found := together(self, number, key, rows, make))
        return found

    monkeypatch.setattr(SharedRows, "together", noted)
    shared = answers(form, 20)
    assert len({id(each) for each in made if each is not None}) == 1
    assert sum(each is None for each in made) < 3
    assert shared[:7] == answers(form, 7)  # too few to share


def test_first_rows_are_found_by_query_in_their_order() -> None:
    firsts = SharedFirsts(np.array([4, 1, 3, 2]), np.array([1, 0, 1, 0]))
    assert [firsts.of(number).tolist() for number in range(3)] == [[1, 2], [3, 4], []]
