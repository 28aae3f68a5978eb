"""What bodies over one join find is noted once for all of them while many want it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cqc
from cqc.runtime.pull import shared_rows

if TYPE_CHECKING:
    import pytest

    from cqc.runtime.pull.body_results import BodyResults

STREAMS = "CREATE STREAM a (ts BIGINT, k BIGINT, v BIGINT); CREATE STREAM b (ts BIGINT, k BIGINT, x BIGINT);"
PAIRS = "SELECT a.v, b.x FROM a, b WHERE a.k = b.k AND a.v > {} BEGIN 0 END NOW MAXWINDOW 60 SEC"


def engine(count: int = 10, form: str = PAIRS) -> cqc.Engine:
    running = cqc.Engine(cqc.compile(STREAMS))
    for number in range(count):
        running.register(form.format(number), f"q{number}")
    return running


def bodies(running: cqc.Engine) -> list[BodyResults]:
    return list(running._pulls.kept.bodies.values())


def push(running: cqc.Engine, at: int, *values: int, keys: int = 1) -> None:
    running.push("a", [{"ts": at, "k": value % keys, "v": value} for value in values])
    running.push("b", [{"ts": at + 1, "k": key, "x": at} for key in range(keys)])


def shared_of(running: cqc.Engine) -> shared_rows.SharedRows:
    (shared,) = {each.shared for each in bodies(running)}
    assert shared is not None
    return shared


def test_a_row_that_many_want_is_noted_once() -> None:
    running = engine()
    push(running, 1, 20, 21, 5)
    shared = shared_of(running)
    assert [running.invoke(f"q{number}").num_rows for number in (0, 5, 9)] == [3, 2, 2]
    assert len(shared.history) == 3
    assert [shared.count(each.number) for each in bodies(running)] == [3] * 5 + [2] * 5


def test_few_bodies_have_rows_of_their_own() -> None:
    running = engine(7)
    push(running, 1, 20)
    assert all(each.shared is None for each in bodies(running))


def test_a_body_that_comes_late_has_its_past_for_itself() -> None:
    running = engine()
    push(running, 1, 20)
    running.register(PAIRS.format(15), "late")
    push(running, 3, 30)
    assert [each.shared is None for each in bodies(running)] == [False] * 10 + [True]
    expected = sorted(map(str, running.invoke("q9").to_pylist()))
    assert sorted(map(str, running.invoke("late").to_pylist())) == expected


def test_rows_that_few_want_are_given_to_those_who_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_rows, "_LOOKED_AT", 2)
    running = engine(form=PAIRS.replace(">", "="))
    push(running, 1, *range(10))
    assert all(each.shared is None for each in bodies(running))
    push(running, 3, 4)
    assert [running.invoke(f"q{number}").num_rows for number in (3, 4)] == [2, 4]


def test_what_is_asked_for_often_is_kept_apart() -> None:
    running = engine()
    push(running, 1, 20, 21)
    total = PAIRS.replace("a.v, b.x", "SUM(a.v) AS s")
    for _ in range(12):
        assert running.invoke("q3").num_rows == 2
    first = bodies(running)[3]
    assert first.shared is None
    assert len(shared_of_others(running)) == 9
    push(running, 3, 22)
    assert running.invoke("q3").num_rows == running.invoke("q4").num_rows == 6
    running.register(total.format(3), "total")  # it reads the same body
    assert running.invoke("total").to_pylist() == [{"s": 2 * (20 + 21 + 22)}]


def shared_of_others(running: cqc.Engine) -> shared_rows.SharedRows:
    found = [each.shared for each in bodies(running) if each.shared is not None]
    return found[0]


def test_rows_that_nobody_wants_any_more_are_given_up() -> None:
    running = engine()
    push(running, 1, 1, 1, 1, 20)
    shared = shared_of(running)
    assert len(shared.history) == 4
    for number in range(5):
        running.unregister(f"q{number}")
    assert len(shared.history) == 1
    for number in range(5, 10):
        running.unregister(f"q{number}")
    assert not bodies(running)


def test_only_what_a_body_wants_makes_it_crowded() -> None:
    running = engine()
    push(running, 1, 1, 1, 1, 20)
    assert sorted(running.crowded(3)) == ["q0"]
    assert running.crowded(4) == []


def test_windows_and_retention_cut_what_is_shared() -> None:
    running = cqc.Engine(cqc.compile("SET RETENTION = 20 SEC;" + STREAMS))
    for number in range(10):
        running.register(PAIRS.format(number), f"q{number}")
    for at in range(0, 100, 10):
        push(running, at, 20)
    assert running.invoke("q0", at=15).num_rows <= running.invoke("q0").num_rows
    apart = cqc.Engine(cqc.compile("SET RETENTION = 20 SEC;" + STREAMS))
    apart.register(PAIRS.format(0), "q0")
    for at in range(0, 100, 10):
        push(apart, at, 20)
    assert sorted(map(str, running.invoke("q0").to_pylist())) == sorted(
        map(str, apart.invoke("q0").to_pylist())
    )


def test_bodies_that_are_asked_all_the_time_have_their_own() -> None:
    running = engine()
    running.register(PAIRS.format(30).replace("END NOW", "END NOW EVERY 5 SEC"), "periodic")
    push(running, 1, 20, 40)
    assert [each.shared is None for each in bodies(running)] == [False] * 10 + [True]
    assert running.invoke("q0").num_rows == 2
    push(running, 11, 50)
    assert {each.query for each in running.drain()} == {"periodic"}
