"""Sliding thresholds: all queries `... QUALIFY COUNT(*) OVER (PARTITION BY keys RANGE d PRECEDING) >= n` over one stream together.

Each query (rule) has its own filter, d, n and outputs; they have the stream and the keys in common. Rows of all rules wait together, and
are counted together when they are decided (`recent_times`): the cost follows the rows that pass filters, not the rules.
Outputs are worked out for rows that reach their threshold alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import (
    AggregateFunction,
    Arithmetic,
    ArithmeticOp,
    ColumnRef,
    Comparison,
    ComparisonOp,
    Decision,
    EndKind,
    Literal,
    Over,
    overs_in,
)
from cqc.runtime.columns.columns import Column, take
from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.columns.saved_columns import loaded, loaded_array, loaded_column, saved
from cqc.runtime.expressions.compile.compile_expression import compile_expression
from cqc.runtime.pull.aggregate.aggregates import count_column
from cqc.runtime.state.key_numbers import KeyNumbers
from cqc.runtime.windows.decided_plan import DecidedPlan
from cqc.runtime.windows.members import Member, Reached, SeatedMembers
from cqc.runtime.windows.recent_times import FROM_FIRST, NEVER, NO_MOST, RecentTimes
from cqc.runtime.windows.waiting_rows import Rows, fetch_of, joined_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.bound import Expression
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.pull.pull_plan import PullPlan
    from cqc.runtime.windows.waiting_rows import Place


_MANY = 1 << 16


@record
class Threshold:
    """What a rule asks: at least `least` rows of a key in the last `reach_us`; and their number divided by `every` leaves `left`.

    `shows_count`: an output has the count.
    """

    partition: tuple[Expression, ...]
    reach_us: int
    least: int
    shows_count: bool
    every: int = 0
    left: int = 0


def threshold_of(node: QueryNode) -> Threshold | None:
    """What a query asks, if it is nothing but a sliding threshold over one stream."""
    decided = node.decided
    if decided is None or decided.decision is not Decision.RUNNING or len(node.items) > 1:
        return None
    if (
        decided.window is not None
        or decided.order_by
        or decided.distinct
        or decided.limit is not None
    ):
        return None
    overs = overs_in(*(output.expression for output in node.outputs), decided.qualify)
    if len(overs) != 1 or not isinstance(decided.qualify, Comparison):
        return None
    (over,) = overs
    asked = _asked(decided.qualify, over)
    reach_us = _reach_us(over, is_view=node.items[0].relation.made_by is not None)
    time = node.items[0].relation.event_time
    of_instants = any(isinstance(key, ColumnRef) and key.column == time for key in over.partition)
    if asked is None or reach_us is None or of_instants:
        return None
    least, every, left = asked
    shows = bool(overs_in(*(output.expression for output in node.outputs)))
    return Threshold(over.partition, reach_us, least, shows or every > 0, every, left)


def _reach_us(over: Over, *, is_view: bool) -> int | None:
    """How far the frame of a COUNT(*) reaches, by RANGE or from the first row on."""
    frame, aggregate = over.frame, over.aggregate
    if aggregate is None or aggregate.function is not AggregateFunction.COUNT_ALL:
        return None
    if frame is None or not over.by_time or frame.end.kind is not EndKind.CURRENT:
        return None
    if frame.start.kind is EndKind.FIRST:
        # Rows of a view have no order of arrival.
        return None if frame.by_rows and is_view else FROM_FIRST + frame.by_rows
    if frame.by_rows or frame.start.kind is not EndKind.BEFORE:
        return None
    return min(int(frame.start.amount), FROM_FIRST - 1)


def _asked(qualify: Comparison, over: Over) -> tuple[int, int, int] | None:
    """`over >= n`, `over > n`, from either side, or `over % m = r`: the least count, m and r (0 where there are none)."""
    left, op, right = qualify.left, qualify.op, qualify.right
    if isinstance(left, Literal):
        left, op, right = right, op.flipped, left
    number = _whole(right)
    if number is None:
        return None
    if left == over and op in (ComparisonOp.GE, ComparisonOp.GT):
        return max(number + (op is ComparisonOp.GT), 0), 0, 0
    of_rest = isinstance(left, Arithmetic) and left.op is ArithmeticOp.MODULO and left.left == over
    every = _whole(left.right) if isinstance(left, Arithmetic) and of_rest else None
    if every is None or every < 1 or number < 0 or op is not ComparisonOp.EQ:
        return None
    return 0, every, number


def _whole(expression: Expression) -> int | None:
    value = expression.value if isinstance(expression, Literal) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(slots=True, eq=False)
class Rule(Member):
    """One query of a family."""

    threshold: Threshold

    @property
    def failures(self) -> int:
        """Outputs that gave NULL."""
        return self.plan.failures


@dataclass(slots=True, eq=False)
class _Waiting:
    """Rows of one packet and, beside them, which rule wants which."""

    ts_us: NDArray[np.int64]
    keys: NDArray[np.int64]  # by row
    column: Callable[[Place, NDArray[np.int64]], Column]
    rules: NDArray[np.int64]  # by pair
    rows: NDArray[np.int64]


class Thresholds:
    """The rules of one stream and one PARTITION BY."""

    def __init__(
        self, partition: tuple[Expression, ...], idle_us: int | None, *, waits: bool
    ) -> None:
        """`waits`: rows of one event time are counted together, and decided when the watermark is greater."""
        self.partition = partition
        self._waits = waits
        self._idle_us = NEVER if idle_us is None else idle_us
        self.rules: dict[int, Rule] = {}
        self._free: list[int] = []
        self._reach_us = np.zeros(0, np.int64)
        self._most = np.zeros(0, np.int64)
        self._least = np.zeros(0, np.int64)
        self._every = np.zeros(0, np.int64)
        self._left = np.zeros(0, np.int64)
        self._plans: dict[Hashable, DecidedPlan] = {}  # by outputs
        self._waiting: list[_Waiting] = []
        self._numbered = 0  # rules so far
        self._seated: SeatedMembers | None = None
        self._compiled = [compile_expression(key) for key in self.partition]
        self._types = [key.type for key in self.partition]
        self._numbers = KeyNumbers(self._types)
        self._recent = RecentTimes()
        self._look_again = _MANY  # with so many keys it is worth to see which are still needed
        self._looked_us: int | None = None  # the event time when that was seen last

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def nbytes(self) -> int:
        """Memory of the times and keys."""
        waiting = sum(8 * (len(each.rules) * 2 + len(each.ts_us) * 2) for each in self._waiting)
        return self._recent.nbytes + self._numbers.nbytes + waiting

    @property
    def failures(self) -> int:
        """Keys that could not be evaluated."""
        return sum(each.failures for each in self._compiled)

    # Rules come and go

    def add(self, seat: Seat, plan: DecidedPlan, threshold: Threshold) -> Rule:
        """Count for one more rule."""
        number = self._free.pop() if self._free else self._numbered
        self._numbered = max(self._numbered, number + 1)
        if number == len(self._reach_us):
            self._grow()
        self._reach_us[number] = threshold.reach_us
        self._every[number] = max(threshold.every, 1)
        self._left[number] = threshold.left
        self._least[number] = threshold.least
        self._most[number] = NO_MOST if threshold.shows_count else max(threshold.least, 1)
        self._seated = None
        rule = self.rules[number] = Rule(self, number, seat, plan, threshold)
        return rule

    def _grow(self) -> None:
        more = np.zeros(max(len(self._reach_us), 64), np.int64)
        self._reach_us, self._most, self._least, self._every, self._left = (
            np.concatenate((each, more))
            for each in (self._reach_us, self._most, self._least, self._every, self._left)
        )

    def plan_of(self, outputs: Hashable, node: QueryNode) -> DecidedPlan:
        """The plan of rules with these outputs."""
        if outputs not in self._plans:
            self._plans[outputs] = DecidedPlan(node)
        return self._plans[outputs]

    def remove(self, rule: Rule) -> None:
        """Forget a rule."""
        del self.rules[rule.number]
        self._seated = None
        self._free.append(rule.number)
        self._recent.forget_rule(rule.number)
        for each in self._waiting:
            kept = each.rules != rule.number
            each.rules, each.rows = each.rules[kept], each.rows[kept]

    # Rows in, results out

    def receive(self, found: Found) -> None:
        """Take what an operator found for the rules."""
        if self._seated is None:
            self._seated = SeatedMembers(self.rules)
        pair_rules, pair_rows = self._seated.pairs(found)
        if not len(pair_rows):
            return

        def column(place: Place, rows: NDArray[np.int64]) -> Column:
            return found.column(0, place[1], rows)

        self._wait(found.ts_us, pair_rules, pair_rows, column)

    def _wait(
        self,
        ts_us: NDArray[np.int64],
        rules: NDArray[np.int64],
        rows: NDArray[np.int64],
        column: Callable[[Place, NDArray[np.int64]], Column],
    ) -> None:
        used = np.zeros(len(ts_us), np.bool_)
        used[rows] = True
        wanted = np.flatnonzero(used)
        numbers = np.zeros(len(ts_us), np.int64)

        def fetch(item: int, number: int) -> Column:
            return column((item, number), wanted)

        keys = [key.run(fetch, len(wanted)) for key in self._compiled]
        numbers[wanted] = self._numbers.of(keys, len(wanted))
        self._waiting.append(_Waiting(ts_us, numbers, column, rules, rows))

    def decide(self, watermark_us: int) -> Iterator[Reached]:
        """The rows that have reached their thresholds, of those that are decided now."""
        parts: list[tuple[_Waiting, NDArray[np.int64], NDArray[np.int64]]] = []
        left: list[_Waiting] = []
        for each in self._waiting:
            times = each.ts_us[each.rows]
            ready = times < watermark_us if self._waits else times <= watermark_us
            if watermark_us == ALL_SEEN:
                ready[:] = True
            if ready.all():
                parts.append((each, each.rules, each.rows))
                continue
            if ready.any():
                parts.append((each, each.rules[ready], each.rows[ready]))
                each.rules, each.rows = each.rules[~ready], each.rows[~ready]
            left.append(each)
        self._waiting = left
        if parts:
            yield from self._count(parts)

    def _count(
        self, parts: Sequence[tuple[_Waiting, NDArray[np.int64], NDArray[np.int64]]]
    ) -> Iterator[Reached]:
        ts_us = np.concatenate([each.ts_us[rows] for each, _, rows in parts])
        keys = np.concatenate([each.keys[rows] for each, _, rows in parts])
        rules = np.concatenate([own for _, own, _ in parts])
        is_ordered = bool((ts_us[1:] >= ts_us[:-1]).all())
        order = np.arange(len(ts_us)) if is_ordered else np.argsort(ts_us, kind="stable")
        counts = self._recent.slide(
            rules[order], keys[order], ts_us[order], self._reach_us, self._most, self._idle_us
        )
        if self._is_time_to_look(int(ts_us[order[-1]])):
            self._forget_keys(int(ts_us[order[-1]]))
        of = rules[order]
        reached = (counts >= self._least[of]) & (counts % self._every[of] == self._left[of])
        hit = np.flatnonzero(reached)
        if not len(hit):
            return
        pairs, counts = order[hit], counts[hit]
        sizes = np.cumsum([len(own) for _, own, _ in parts])
        by_outputs: dict[int, list[int]] = {}
        for number in np.unique(rules[pairs]).tolist():
            by_outputs.setdefault(id(self.rules[number].plan), []).append(number)
        for numbers in by_outputs.values():
            own = np.isin(rules[pairs], numbers)
            yield self._reached(parts, sizes, pairs[own], counts[own], rules, ts_us)

    def _is_time_to_look(self, now_us: int) -> bool:
        """Whether keys may have become needless: there are many more, or every frame and KEY_IDLE have passed once since."""
        if len(self._numbers) <= _MANY:
            return False
        if self._looked_us is None:
            self._looked_us = now_us
        longest_us = int(np.minimum(self._reach_us, self._idle_us).max())
        return len(self._numbers) > self._look_again or now_us - self._looked_us > longest_us

    def _forget_keys(self, now_us: int) -> None:
        """Give up keys that no rule needs any more."""
        self._looked_us = now_us
        live = self._recent.live(now_us, np.minimum(self._reach_us, self._idle_us))
        live = np.unique(np.concatenate([live, *(each.keys[each.rows] for each in self._waiting)]))
        columns, old = self._numbers.columns(live), len(self._numbers)
        self._numbers = KeyNumbers(self._types)
        renamed = np.zeros(old, np.int64)
        renamed[live] = self._numbers.of(columns, len(live))
        self._recent.rename(renamed)
        for each in self._waiting:
            each.keys = renamed[each.keys]
        self._look_again = max(_MANY, 2 * len(live))

    def _reached(
        self,
        parts: Sequence[tuple[_Waiting, NDArray[np.int64], NDArray[np.int64]]],
        sizes: NDArray[np.int64],
        pairs: NDArray[np.int64],
        counts: NDArray[np.int64],
        rules: NDArray[np.int64],
        ts_us: NDArray[np.int64],
    ) -> Reached:
        """The outputs of rows of rules that show the same."""
        order = np.argsort(rules[pairs], kind="stable")
        pairs, counts = pairs[order], counts[order]
        part = np.searchsorted(sizes, pairs, "right")
        by_part = np.argsort(part, kind="stable")
        back = np.argsort(by_part, kind="stable")
        within = pairs - np.where(part > 0, sizes[part - 1], 0)

        def fetch(item: int, number: int) -> Column:
            found = []
            for at in np.unique(part).tolist():
                each, _, rows = parts[at]
                found.append(each.column((item, number), rows[within[part == at]]))
            return take(_joined(found), back)

        own, starts = np.unique(rules[pairs], return_index=True)
        answers: PullPlan = self.rules[int(own[0])].plan.answers
        columns = answers.reached(fetch, len(pairs), count_column(counts))
        chosen = [self.rules[number] for number in own.tolist()]
        return Reached(chosen, np.append(starts[1:], len(pairs)), ts_us[pairs], columns)

    # Going on elsewhere

    def save(self, rule: Rule) -> dict[str, Any]:
        """The waiting rows of a rule, and the keys and times that are still needed."""
        state: dict[str, Any] = {}
        named: dict[str, Any]
        places, types = rule.plan.places, rule.plan.types
        waiting = []
        for each in self._waiting:
            rows = each.rows[each.rules == rule.number]
            if not len(rows):
                continue
            columns = tuple(each.column(place, rows) for place in places)
            waiting.append(Rows(each.ts_us[rows], each.ts_us[rows], columns))
        rows = Rows.joined([Rows.none(types), *waiting])
        if len(rows):
            state["rows"] = rows.saved()
        if rule.threshold.reach_us >= FROM_FIRST:
            keys, counts, lasts = self._recent.numbers_of(rule.number)
            named = {"n": counts, "ts": lasts}
        else:
            keys, times = self._recent.of_rule(rule.number)
            named = {"ts": times}
        if len(keys):
            named |= {f"k{at}": column for at, column in enumerate(self._numbers.columns(keys))}
            state["times"] = saved(named)
        return state

    def load(self, rule: Rule, state: dict[str, Any]) -> None:
        """Go on where the rule was."""
        self._recent.forget_rule(rule.number)
        if "times" in state:
            table = loaded(state["times"])
            columns = [
                loaded_column(table, f"k{at}", type_) for at, type_ in enumerate(self._types)
            ]
            ts_us = loaded_array(table, "ts")
            keys = self._numbers.of(columns, len(ts_us))
            order = np.argsort(ts_us, kind="stable")
            rules = np.full(len(ts_us), rule.number, np.int64)
            if rule.threshold.reach_us >= FROM_FIRST:
                counts = loaded_array(table, "n")
                self._recent.set_numbers(rule.number, keys, counts, ts_us)
            else:
                self._recent.slide(
                    rules, keys[order], ts_us[order], self._reach_us, self._most, NEVER
                )
        if "rows" in state:
            rows = Rows.loaded(state["rows"], rule.plan.types)
            fetch = fetch_of(rule.plan.places, rows)

            def column(place: Place, at: NDArray[np.int64]) -> Column:
                return take(fetch(*place), at)

            rules = np.full(len(rows), rule.number, np.int64)
            self._wait(rows.ts_us, rules, np.arange(len(rows)), column)


def _joined(columns: Sequence[Column]) -> Column:
    return columns[0] if len(columns) == 1 else joined_columns(columns)
