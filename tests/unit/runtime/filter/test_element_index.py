"""Any-element questions find what their expressions find, in every place of a formula, while queries come and go."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import cqc
from cqc.compiler.emit.explain import emit
from cqc.compiler.meaning.types import ArrayType, ColumnType, array_of
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.nested import NestedColumn, inner_type
from cqc.runtime.filter.element_index import ElementIndex, ElementNets, ElementValues
from tests.support.oracle.brute_force import push_answer

STREAM = (
    "CREATE STREAM s (ts BIGINT, args ARRAY<STRING>, ns ARRAY<BIGINT>, ds ARRAY<DOUBLE>, t STRING);"
)
CONDITIONS = (
    "array_contains(args, '{text}')",
    "exists(args, a -> a = '{text}')",
    "exists(args, a -> '{text}' = a)",
    "exists(args, a -> a IN ('{text}', 'b', 'Ä'))",
    "exists(args, a -> a LIKE '%{text}')",
    "exists(args, a -> a ILIKE '{text}%')",
    "exists(args, a -> a ILIKE '%{text}%' OR a = 'zz' OR a RLIKE '^.$')",
    "exists(args, a -> lower(a) = '{text}')",
    "exists(args, a -> a NOT LIKE '%{text}%')",
    "exists(args, a -> cidr_match(a, '10.0.0.0/8'))",
    "exists(args, a -> is_private_ip(a))",
    "exists(args, a -> a = t)",
    "exists(args, a -> a IS NULL)",
    "array_contains(ns, {number})",
    "exists(ns, n -> n = {number})",
    "exists(ns, n -> n IN ({number}, 7))",
    "exists(ns, n -> n > {number})",
    "exists(ns, n -> n <> {number})",
    "array_contains(ds, {number}.0)",
    "array_contains(ns, NULL)",
    "NOT array_contains(args, '{text}')",
    "NOT coalesce(array_contains(args, '{text}'), FALSE)",
    "array_contains(args, '{text}') IS NOT TRUE",
    "exists(args, a -> a = '{text}') IS NULL",
)
TEXTS = ["a", "b", "ab", "A", "ä", "Ä", "zz", "", "10.1.2.3", "xay"]


def random_list(rng: random.Random, values: list[Any]) -> list[Any] | None:
    if rng.random() < 0.1:
        return None
    return [None if rng.random() < 0.1 else rng.choice(values) for _ in range(rng.randrange(4))]


def random_condition(rng: random.Random) -> str:
    made = [
        rng.choice(CONDITIONS).format(text=rng.choice(["a", "b", "zz"]), number=rng.randrange(3))
        for _ in range(rng.randrange(1, 4))
    ]
    return f" {rng.choice(('AND', 'OR'))} ".join(f"({each})" for each in made)


@pytest.mark.parametrize("seed", range(6))
def test_random_rules_find_what_the_oracle_finds(seed: int) -> None:
    rng = random.Random(seed)
    queries = "".join(
        f"CREATE QUERY q{at} AS SELECT ts FROM s WHERE {random_condition(rng)};" for at in range(40)
    )
    rows = [
        {
            "ts": ts,
            "args": random_list(rng, TEXTS),
            "ns": random_list(rng, [0, 1, 2, 7]),
            "ds": random_list(rng, [0.0, -0.0, 1.0, float("nan")]),
            "t": rng.choice([*TEXTS, None]),
        }
        for ts in range(60)
    ]
    program = cqc.compile(STREAM + queries)
    engine = cqc.Engine(program)
    engine.push("s", rows)
    found = sorted((result.query, result.row["ts"]) for result in engine.drain())
    arrived = [(tuple(row.values()), at) for at, row in enumerate(rows)]
    wanted = [
        (query.name, row[0])
        for query in program.queries.values()
        for _, row in push_answer(query, {"s": arrived}, {})
    ]
    assert found == sorted(wanted)


def test_explain_calls_it_a_filter() -> None:
    text = emit(
        cqc.compile(
            f"{STREAM} SELECT ts FROM s WHERE array_contains(args, 'x') OR exists(args, a -> a ILIKE '%y%');"
        )
    )
    assert "filter on args" in text
    assert "evaluated once" not in text


def test_queries_leave() -> None:
    engine = cqc.Engine(cqc.compile(STREAM))
    rows = [{"ts": 1, "args": ["x", "10.1.1.1"]}]
    for condition in (
        "array_contains(args, 'x')",
        "exists(args, a -> a ILIKE '%X%')",
        "exists(args, a -> cidr_match(a, '10.0.0.0/8'))",
        "exists(args, a -> lower(a) = 'x')",
    ):
        handle = engine.register(f"SELECT ts FROM s WHERE {condition}")
        engine.push("s", rows)
        assert len(list(engine.drain())) == 1
        engine.unregister(handle)
    engine.push("s", rows)
    assert not list(engine.drain())


def test_a_tuple_hits_an_atom_once() -> None:
    type_ = array_of(ColumnType.STRING)
    assert isinstance(type_, ArrayType)
    nested = pa.array([["x", "x"], [], None, ["y", "x"]], inner_type(type_))
    valid = from_python(ColumnType.BOOLEAN, [True, True, False, True]).values
    index = ElementIndex(type_)
    index.add(7, ElementValues(("x",), str))
    index.add(8, ElementNets(("10.0.0.0/8",)))
    tuples, atoms = index.hits(NestedColumn(type_, nested, valid))
    assert tuples.tolist() == [0, 3]
    assert atoms.tolist() == [7, 7]
    index.remove(7, ElementValues(("x",), str))
    assert not len(index.hits(NestedColumn(type_, nested, valid))[0])
    assert index.nbytes > 0
