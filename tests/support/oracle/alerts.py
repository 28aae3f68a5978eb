"""Alerts by their definition: the observations of a key are cut into silences, and each part into the times it was bad.

No state is carried from one observation to the next. A *stretch* is what is left between two silences of NO DATA; in a stretch a
firing is found by looking for where it begins and for the first place at which it may end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import ComparisonOp
from tests.support.oracle.aggregates import group_key
from tests.support.oracle.scalars import Row, Scope, Value, compare, evaluate, is_true

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cqc.compiler.meaning import bound
    from cqc.compiler.meaning.alerts import Alert


@dataclass(frozen=True)
class Observation:
    """A tuple of one key as an alert sees it."""

    ts_us: int
    bad: bool
    clear: bool
    key: Row
    row: Row


@dataclass(frozen=True)
class Told:
    """One result of an alert."""

    ts_us: int
    state: str
    since_us: int
    count: int
    key: Row
    row: Row


@dataclass(frozen=True)
class Firing:
    """A firing: where it is pending first, begins and ends among the observations of a stretch (None: with the stretch)."""

    first: int
    begin: int
    end: int | None


def told(
    query: bound.Query,
    observed: Sequence[tuple[Row, int]],
    functions: Mapping[str, object],
    dropped_us: int | None = None,
) -> list[Told]:
    """Everything that an alert tells of tuples with their event times, in the order of their arrival.

    `dropped_us`: the alert is dropped at this watermark, all of them being decided then.
    """
    alert = query.alert
    assert alert is not None
    keys: dict[tuple[object, ...], list[Observation]] = {}
    for row, ts_us in observed:
        scope = Scope([row], functions=functions)  # type: ignore[arg-type]
        key = tuple(evaluate(each.expression, scope) for each in alert.keys)
        bad = query.where is None or is_true(query.where, scope)
        clear = not bad if alert.clear is None else is_true(alert.clear, scope)
        shown = tuple(evaluate(output.expression, scope) for output in query.outputs)
        seen = keys.setdefault(tuple(map(group_key, key)), [])
        seen.append(Observation(ts_us, bad, clear, key, shown))
    found: list[Told] = []
    for seen in keys.values():
        found += _of_key(alert, _in_order(alert, seen), dropped_us)
    return sorted(found, key=lambda each: each.ts_us)


def _in_order(alert: Alert, seen: list[Observation]) -> list[Observation]:
    """By event time; equal ones as they arrived, in a view good ones first and then by their values."""
    if not alert.of_view:
        return sorted(seen, key=lambda each: each.ts_us)
    return sorted(seen, key=cmp_to_key(_by_value))


def _by_value(one: Observation, other: Observation) -> int:
    for left, right in ((one.ts_us, other.ts_us), (one.bad, other.bad)):
        if left != right:
            return -1 if left < right else 1
    for mine, yours in zip(one.row, other.row, strict=True):
        placed = _placed(mine, yours)
        if placed:
            return placed
    return 0


def _placed(one: Value, other: Value) -> int:
    if one is None or other is None:
        return (other is None) - (one is None)
    if compare(ComparisonOp.LT, one, other):
        return -1
    return 1 if compare(ComparisonOp.GT, one, other) else 0


def _of_key(alert: Alert, seen: list[Observation], dropped_us: int | None) -> Iterator[Told]:
    last_us: int | None = None  # of what was delivered, for ONCE EVERY
    for stretch, is_last in _stretches(alert, seen):
        for firing in _firings(alert, stretch):
            if alert.tells_pending and alert.hold_us is not None:
                yield _result(stretch, firing.first, firing.first, "pending")
            if firing.begin < 0:
                continue
            end = len(stretch) if firing.end is None else firing.end
            is_told = False
            for at in range(firing.begin, end):
                starts = at == firing.begin
                if not stretch[at].bad or not (starts or alert.once_us is not None):
                    continue
                now_us = stretch[at].ts_us
                if alert.once_us is None or last_us is None or now_us - last_us >= alert.once_us:
                    yield _result(stretch, firing.first, at, "firing" if starts else "repeated")
                    last_us, is_told = now_us, True
            if not is_told:
                continue
            if firing.end is not None:
                yield _result(stretch, firing.first, firing.end, "resolved")
            elif alert.no_data_us is not None and not (
                is_last
                and dropped_us is not None
                and dropped_us <= stretch[-1].ts_us + alert.no_data_us
            ):
                at_us = stretch[-1].ts_us + alert.no_data_us
                yield _result(stretch, firing.first, len(stretch) - 1, "no_data", at_us)
            elif dropped_us is not None and is_last:
                yield _result(stretch, firing.first, len(stretch) - 1, "resolved", dropped_us)


def _result(
    stretch: Sequence[Observation], first: int, at: int, state: str, at_us: int | None = None
) -> Told:
    count = sum(each.bad for each in stretch[first : at + 1])
    observation = stretch[at]
    ts_us = observation.ts_us if at_us is None else at_us
    return Told(ts_us, state, stretch[first].ts_us, count, observation.key, observation.row)


def _stretches(alert: Alert, seen: list[Observation]) -> Iterator[tuple[list[Observation], bool]]:
    """The observations between two silences; the last one comes with True."""
    starts = [0] + [
        at
        for at in range(1, len(seen))
        if alert.no_data_us is not None and seen[at].ts_us > seen[at - 1].ts_us + alert.no_data_us
    ]
    for start, end in zip(starts, [*starts[1:], len(seen)], strict=True):
        yield seen[start:end], end == len(seen)


def _firings(alert: Alert, stretch: Sequence[Observation]) -> Iterator[Firing]:
    """Where it was pending or fired; one that never got beyond pending begins nowhere (-1)."""
    at = 0
    while at < len(stretch):
        if not stretch[at].bad:
            at += 1
            continue
        run = next((n for n in range(at, len(stretch)) if not stretch[n].bad), len(stretch))
        begin: int | None = at
        if alert.hold_us is not None:
            due_us = stretch[at].ts_us + alert.hold_us
            begin = next((n for n in range(at + 1, run) if stretch[n].ts_us >= due_us), None)
        if begin is None:
            yield Firing(at, -1, run)
            at = run
            continue
        end = _end(alert, stretch, begin)
        yield Firing(at, begin, end)
        at = len(stretch) if end is None else end + 1


def _end(alert: Alert, stretch: Sequence[Observation], begin: int) -> int | None:
    """The first observation that may end a firing: what stands between it and the last bad one decides."""
    for at in range(begin + 1, len(stretch)):
        if stretch[at].bad:
            continue
        last_bad = max(n for n in range(begin, at) if stretch[n].bad)
        good = stretch[last_bad + 1 : at + 1]
        if stretch[at].ts_us >= good[0].ts_us + (alert.keep_us or 0) and any(
            each.clear for each in good
        ):
            return at
    return None
