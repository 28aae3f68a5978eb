"""Families: members in the order of coverage, and a rank that says which of them hold."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right

import pytest

import cqc
from cqc.compiler.graph.nodes import Direction, Family

STREAMS = """
CREATE STREAM A (ts TIMESTAMP, x DOUBLE);
CREATE STREAM B (ts TIMESTAMP, x DOUBLE);
"""


def family_of(conditions: list[str]) -> Family:
    queries = [f"SELECT A.x FROM A, B WHERE {each} MAXWINDOW 1 SEC;" for each in conditions]
    program = cqc.compile(STREAMS + "".join(queries))
    (host,) = program.graph.hosts.values()
    (family,) = host.families.values()
    return family


def holding(family: Family, value: float) -> list[str]:
    """The names of the members that hold for a pair's value, by rank."""
    if family.predicate_list.direction is Direction.BELOW:
        at = bisect_left(family.thresholds, value)
        while (
            at < len(family.thresholds) and family.thresholds[at] == value and not family.closed[at]
        ):
            at += 1
        members = family.members[at:]
    else:
        at = bisect_left(family.thresholds, value)
        end = bisect_right(family.thresholds, value)
        while at < end and family.closed[at]:
            at += 1
        members = family.members[:at]
    return sorted(next(member.queries).name for member in members)


@pytest.mark.parametrize("direction", ["<", ">"])
def test_the_rank_of_a_pair_says_which_members_hold(direction: str) -> None:
    chooser = random.Random(3)
    limits = [(chooser.randrange(5), chooser.choice(["", "="])) for _ in range(12)]
    limits = list(dict.fromkeys(limits))
    family = family_of([f"A.x {direction}{equal} B.x + {limit}" for limit, equal in limits])
    for value in (-1.0, 0.0, 0.5, 1.0, 2.0, 4.0, 5.0):
        expected = []
        for number, (limit, equal) in enumerate(limits, start=1):
            inside = value < limit if direction == "<" else value > limit
            if inside or (equal and value == limit):
                expected.append(f"q{number}")
        assert holding(family, value) == sorted(expected)


def test_a_negative_scale_turns_the_comparison() -> None:
    family = family_of(["-2 * A.x < B.x + 4", "-2 * A.x < B.x + 6"])
    assert family.predicate_list.direction is Direction.ABOVE
    assert family.predicate_list.slope == -0.5
    assert family.thresholds == [-3.0, -2.0]


def test_equality_is_in_no_family() -> None:
    program = cqc.compile(STREAMS + "SELECT A.x FROM A, B WHERE A.x = B.x + 1 MAXWINDOW 1 SEC;")
    (body,) = program.graph.bodies.values()
    assert body.family is None
