from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest

from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.meaning.bound import (
    Arithmetic,
    ArithmeticOp,
    ColumnRef,
    Comparison,
    ComparisonOp,
    Literal,
    PatternKind,
)
from cqc.compiler.meaning.normal import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    Atom,
    ElementAtom,
    ExpressionAtom,
    Formula,
    Interval,
    PatternAtom,
    ValueAtom,
)
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.filter import grouped_filter, packet_index
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.filter.match_source import Costs, Side
from tests.support.formula_judge import (
    TYPES,
    is_true,
    packet_of,
    random_atom,
    random_formula,
    random_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.lineage.bitmaps import Lineage

INTS = (ColumnType.BIGINT, ColumnType.BIGINT)


def below(column: int, limit: int) -> ValueAtom:
    return ValueAtom(column, ColumnType.BIGINT, (Interval(None, False, limit, False),))


def check(lineage: Lineage, formulas: dict[int, Formula], rows: list[tuple[Any, ...]]) -> None:
    for slot, formula in formulas.items():
        expected = [at for at, row in enumerate(rows) if is_true(formula, row)]
        assert lineage.tuples_of(slot).tolist() == expected, (slot, formula)
        assert lineage.counts()[slot] == len(expected)


def test_each_slot_gets_the_tuples_its_formula_holds_for() -> None:
    filters = StreamFilter(INTS)
    filters.add(0, below(0, 5))
    filters.add(1, AllOf((below(0, 5), below(1, 5))))
    filters.add(2, AnyOf((below(0, 5), below(1, 5))))
    lineage = filters.match(packet_of(INTS, [(1, 9), (9, 1), (1, 1), (9, None)]))
    assert lineage.tuples_of(0).tolist() == [0, 2]
    assert lineage.tuples_of(1).tolist() == [2]
    assert lineage.tuples_of(2).tolist() == [0, 1, 2]
    assert lineage.counts().tolist() == [2, 1, 3]
    assert lineage.any_tuple().tolist() == [True, True, True, False]


def test_always_wants_every_tuple_and_never_none() -> None:
    filters = StreamFilter(INTS)
    filters.add(0, ALWAYS)
    filters.add(1, NEVER)
    rows = [(None, None)] * 600
    assert filters.match(packet_of(INTS, rows)).counts().tolist() == [600, 0]


def test_packet_without_tuples_matches_nothing() -> None:
    filters = StreamFilter(INTS)
    filters.add(0, ALWAYS)
    lineage = filters.match(packet_of(INTS, []))
    assert lineage.counts().tolist() == [0]
    assert lineage.pairs()[0].tolist() == []
    assert lineage.by_tuple().shape == (0, 1)


def test_removed_slot_wants_nothing_and_can_be_used_again() -> None:
    filters = StreamFilter(INTS)
    for slot in range(3):
        filters.add(slot, below(0, slot))
    filters.remove(0)
    packet = packet_of(INTS, [(-1, 0), (1, 0)])
    assert filters.match(packet).counts().tolist() == [0, 1, 2]
    filters.add(0, ALWAYS)
    assert filters.match(packet).counts().tolist() == [2, 1, 2]


def test_expression_of_several_columns_is_evaluated_once_for_all_queries() -> None:
    span = Span(SourceFile("test", ""), 0, 0)
    left, right = (ColumnRef(0, at, ColumnType.BIGINT, span) for at in range(2))
    product = Arithmetic(ArithmeticOp.DIVIDE, left, right, ColumnType.DOUBLE, span)
    two = Literal(2.0, ColumnType.DOUBLE, span)
    atom = ExpressionAtom(Comparison(product, ComparisonOp.GE, two, span))
    filters = StreamFilter(INTS)
    filters.add(0, atom)
    filters.add(1, AllOf((atom, below(0, 5))))
    filters.add(2, AnyOf((atom, below(0, 2))))
    lineage = filters.match(packet_of(INTS, [(4, 2), (1, 1), (9, 3), (1, 0), (None, 1)]))
    assert lineage.tuples_of(0).tolist() == [0, 2]
    assert lineage.tuples_of(1).tolist() == [0]
    assert lineage.tuples_of(2).tolist() == [0, 1, 2, 3]
    assert filters.measure().failures == 1
    for slot in range(3):
        filters.remove(slot)
    assert filters.match(packet_of(INTS, [(4, 2)])).counts().sum() == 0


def test_lineage_keeps_its_answer_when_queries_change_later() -> None:
    filters = StreamFilter(INTS)
    filters.add(0, below(0, 5))
    lineage = filters.match(packet_of(INTS, [(1, 0), (9, 0)]))
    filters.remove(0)
    filters.add(0, ALWAYS)
    assert lineage.tuples_of(0).tolist() == [0]


def packet_side() -> Costs:
    return Costs(packet=Side(0.0))


def access_side() -> Costs:
    return Costs(access=Side(0.0), packet=Side(1e9))


@pytest.mark.parametrize("direct_rows", [6144, 0])
@pytest.mark.parametrize("costs", [packet_side, access_side])
@pytest.mark.parametrize("seed", range(5))
def test_random_formulas_over_all_types_agree_with_the_judge(
    seed: int, costs: Callable[[], Costs], direct_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packet_index, "MOST_DIRECT_ROWS", direct_rows)
    monkeypatch.setattr(grouped_filter, "MOST_DIRECT_ROWS", direct_rows)
    rng = random.Random(seed)
    filters = StreamFilter(TYPES, costs())
    formulas = {slot: random_formula(rng, TYPES) for slot in range(60)}
    for slot, formula in formulas.items():
        filters.add(slot, formula)
    for count in (1, 64, 700):
        rows = random_rows(rng, TYPES, count)
        check(filters.match(packet_of(TYPES, rows)), formulas, rows)


def random_point_query(rng: random.Random, columns: int) -> Formula:
    """An equality and up to three ranges, in any order."""
    chosen = rng.sample(range(columns), rng.randint(1, 4))
    atoms = []
    for at, column in enumerate(chosen):
        low = rng.randrange(12)
        high = low if at == 0 else low + rng.randrange(6)
        atoms.append(ValueAtom(column, ColumnType.BIGINT, (Interval(low, True, high, True),)))
    rng.shuffle(atoms)
    return AllOf(tuple(atoms))


@pytest.mark.parametrize("tuples", [1, 30, 3000])
@pytest.mark.parametrize("queries", [3, 400, 2500])
def test_lists_of_equalities_and_packet_index_agree(tuples: int, queries: int) -> None:
    rng = random.Random(tuples + queries)
    types = (ColumnType.BIGINT,) * 5
    both = [StreamFilter(types, costs) for costs in (packet_side(), access_side())]
    for slot in range(queries):
        formula = random_point_query(rng, 5)
        for filters in both:
            filters.add(slot, formula)
    gone = rng.sample(range(queries), queries // 3)
    rows = [tuple(rng.choice([None, *range(12)]) for _ in types) for _ in range(tuples)]
    packet = packet_of(types, rows)
    for _ in range(2):
        one, other = (filters.match(packet) for filters in both)
        assert one.counts().tolist() == other.counts().tolist()
        assert one.any_tuple().tolist() == other.any_tuple().tolist()
        for mine, its in zip(one.pairs(), other.pairs(), strict=True):
            assert mine.tolist() == its.tolist()
        for filters in both:
            for slot in gone:
                filters.remove(slot)
                filters.add(slot, below(0, slot % 13))


def test_equality_beside_a_null_test_or_a_pattern_is_answered_in_full() -> None:
    types = (ColumnType.BIGINT, ColumnType.BIGINT, ColumnType.STRING)
    point = ValueAtom(0, ColumnType.BIGINT, (Interval(1, True, 1, True),))
    is_null = ValueAtom(1, ColumnType.BIGINT, (), matches_null=True)
    unlike = PatternAtom(2, PatternKind.LIKE, "a%", "\\", negated=True)
    filters = StreamFilter(types, access_side())
    formulas: dict[int, Formula] = {0: point, 1: AllOf((point, is_null)), 2: AllOf((point, unlike))}
    for slot, formula in formulas.items():
        filters.add(slot, formula)
    rows = [(1, None, "ab"), (1, 2, "b"), (2, None, "b"), (1, None, None)]
    check(filters.match(packet_of(types, rows)), formulas, rows)


@pytest.mark.parametrize("costs", [packet_side, access_side])
@pytest.mark.parametrize("seed", range(4))
def test_queries_that_come_and_go_do_not_disturb_others(
    seed: int, costs: Callable[[], Costs]
) -> None:
    rng = random.Random(seed)
    filters = StreamFilter(TYPES, costs())
    formulas: dict[int, Formula] = {}
    for _ in range(12):
        for _ in range(30):
            slot = rng.randrange(40)
            if slot in formulas:
                filters.remove(slot)
                del formulas[slot]
            else:
                formulas[slot] = random_formula(rng, TYPES)
                filters.add(slot, formulas[slot])
        rows = random_rows(rng, TYPES, 40)
        check(filters.match(packet_of(TYPES, rows)), formulas, rows)
        assert len(filters) == len(formulas)


def test_more_constants_than_tuples_in_a_block_are_answered_by_rank(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packet_index, "MOST_DIRECT_ROWS", 100)
    filters = StreamFilter(INTS)
    formulas: dict[int, Formula] = {slot: below(slot % 2, 3 * slot) for slot in range(2000)}
    for slot, formula in formulas.items():
        filters.add(slot, formula)
    rng = np.random.default_rng(1)
    values = rng.integers(-10, 6100, (1500, 2))
    lineage = filters.match(packet_of(INTS, [tuple(row) for row in values.tolist()]))
    limits = np.arange(2000) * 3
    expected = (values[:, np.arange(2000) % 2] < limits).sum(axis=0)
    assert lineage.counts().tolist() == expected.tolist()


def test_removing_everything_gives_the_memory_of_constants_back() -> None:
    filters = StreamFilter((*INTS, ColumnType.STRING))
    for slot in range(3000):
        text = ValueAtom(2, ColumnType.STRING, (Interval(str(slot), True, str(slot), True),))
        filters.add(slot, AllOf((below(0, slot * 7), text)))
    packet = packet_of((*INTS, ColumnType.STRING), [(1, 2, "3")])
    assert filters.match(packet).counts().sum() == 1
    for slot in range(3000):
        filters.remove(slot)
    filters.match(packet)
    count = filters.measure()
    assert count.queries == 0
    assert count.cuts_by_column[0] < 100
    assert count.sparse_atoms == 0


def test_random_formulas_have_every_kind_of_atom() -> None:
    """A new kind that is not drawn would be judged nowhere; expressions and elements of arrays have tests of their own."""
    rng = random.Random(1)
    types = (ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.STRING, ColumnType.BOOLEAN)
    drawn = {type(random_atom(rng, types)) for _ in range(200)}
    assert drawn == set(get_args(Atom)) - {ExpressionAtom, ElementAtom}
