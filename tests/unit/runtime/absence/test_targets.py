"""Findings go from slots to rules, as bits or, where few rules among many want a row, one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

import cqc
from cqc.runtime.absence import targets
from cqc.runtime.absence.targets import Route, Target, to_rules

DECLARATIONS = """
CREATE STREAM A (ts BIGINT, k BIGINT, x BIGINT);
CREATE STREAM B (ts BIGINT, k BIGINT, x BIGINT);
"""
RULE = (
    "CREATE QUERY r{0} AS SELECT A.k, A.x FROM A WHERE A.x >= {1} AND NOT EXISTS"
    " (SELECT 1 FROM B WHERE B.k = A.k AND B.x <> {0}{2} WINDOW B.ts >= A.ts AND B.ts <= A.ts + {3});"
)


def test_slots_become_rules() -> None:
    # Rules 0 and 70 sit at slot 0, rule 1 at slot 2, nobody at slot 1, and slot 3 is not known.
    starts, rules = np.array([0, 2, 2, 3]), np.array([0, 70, 1])
    bits = np.array([[0b101], [0b010], [0b100], [0b1000]], np.uint64)
    rows, own = to_rules(bits, starts, rules, 2)
    assert rows.tolist() == [0, 2]
    assert own.tolist() == [[0b11, 1 << 6], [0b10, 0]]


def answers(program: str, leaves: bool = False) -> dict[str, list[tuple[object, ...]]]:
    choose = random.Random(5)
    engine = cqc.Engine(cqc.compile(DECLARATIONS + program))
    found: dict[str, list[tuple[object, ...]]] = {}
    for batch in range(30):
        rows = {
            name: [
                {
                    "ts": batch * 5 + choose.randrange(5),
                    "k": choose.randrange(9),
                    "x": choose.randrange(8),
                }
                for _ in range(12)
            ]
            for name in ("A", "B")
        }
        engine.push_batch(rows)
        if leaves and batch == 10:
            engine.unregister("r1")
        for each in engine.drain():
            found.setdefault(each.query, []).append((each.ts, *each.row.values()))
    engine.finish()
    for each in engine.drain():
        found.setdefault(each.query, []).append((each.ts, *each.row.values()))
    return {name: sorted(each) for name, each in found.items()}


@pytest.mark.parametrize("theta", ["", " AND A.x < B.x + {0}"], ids=["plain", "family"])
def test_bits_and_single_rows_agree(theta: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "".join(RULE.format(at, at % 5, theta.format(at), 3 + at % 4) for at in range(80))
    as_bits = answers(program, leaves=True)
    monkeypatch.setattr(targets, "_WORDS_FOR_A_PAIR", 0)
    assert answers(program, leaves=True) == as_bits
    assert len(as_bits) == 80


def test_stored_tuples_that_few_of_many_rules_want_become_rows_of_one_rule() -> None:
    class Node:
        def find(self, place: int, rules: object, positions: object) -> None:
            self.found = place, rules, positions

        def find_bits(self, place: int, positions: object, bits: object) -> None:
            self.found = place, positions, bits

    node = Node()
    target = Target(node, 3, 70 * 64, (0,))  # type: ignore[arg-type]
    route = Route.of([(1, target)])
    route.take_stored(100, np.array([[0b10], [0b01], [0b10]], np.uint64))
    place, rules, (positions,) = node.found  # type: ignore[misc]
    assert (place, rules.tolist(), positions.tolist()) == (3, [70 * 64, 70 * 64], [100, 102])  # type: ignore[attr-defined]
    few = Route.of([(0, Target(node, 3, 1, (0,)))])  # type: ignore[arg-type]
    few.take_stored(7, np.array([[0], [1]], np.uint64))
    place, (positions,), bits = node.found  # type: ignore[misc]
    assert (place, positions.tolist(), bits.tolist()) == (3, [8], [[0b10]])
