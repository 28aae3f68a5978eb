from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from cqc.compiler.meaning.bound import PatternKind
from cqc.compiler.meaning.normal import PatternAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, cut, from_python
from cqc.runtime.filter.text_index import FoldedOnce, TextIndex
from cqc.runtime.filter.text_searches import Literal, plan_pattern
from tests.support.formula_judge import matches

if TYPE_CHECKING:
    from cqc.runtime.filter.point_index import Hits


def hits_of(index: TextIndex, column: Column) -> Hits:
    return index.hits(column, FoldedOnce(column))


def like(pattern: str, kind: PatternKind = PatternKind.LIKE) -> PatternAtom:
    return PatternAtom(0, kind, pattern, "\\", negated=False)


def add(index: TextIndex, atom: int, pattern: PatternAtom) -> None:
    plan = plan_pattern(pattern.kind, pattern.pattern, pattern.escape)
    assert isinstance(plan, Literal)
    index.add(atom, pattern, plan)


def hits(index: TextIndex, texts: list[str | None]) -> set[tuple[int, int]]:
    tuples, atoms = hits_of(index, from_python(ColumnType.STRING, texts))
    return set(zip(tuples.tolist(), atoms.tolist(), strict=True))


def test_one_search_finds_all_patterns() -> None:
    index = TextIndex()
    for atom, pattern in enumerate([like("%disk%"), like("err%"), like("%4"), like("err: disk 4")]):
        add(index, atom, pattern)
    add(index, 4, like("disk [0-9]+$", PatternKind.RLIKE))
    add(index, 5, like("%DISK%", PatternKind.ILIKE))
    assert hits(index, ["err: disk 4", None, "the err", "Disk x"]) == {
        (0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (3, 5),
    }  # fmt: skip


def test_occurrence_across_two_texts_is_none() -> None:
    index = TextIndex()
    add(index, 0, like("%ab%"))
    assert hits(index, ["a", "b", "ab"]) == {(2, 0)}


def test_slice_of_a_column_is_searched_alone() -> None:
    index = TextIndex()
    add(index, 0, like("a%"))
    column = cut(from_python(ColumnType.STRING, ["a", "b", None, "a"]), 1, 4)
    assert [each.tolist() for each in hits_of(index, column)] == [[2], [0]]


@pytest.mark.parametrize("seed", range(5))
def test_patterns_that_come_and_go_agree_with_the_judge(seed: int) -> None:
    rng = random.Random(seed)
    index = TextIndex()
    patterns: dict[int, PatternAtom] = {}
    for _ in range(8):
        for _ in range(40):
            atom = rng.randrange(60)
            if atom in patterns:
                index.remove(atom, patterns.pop(atom))
                continue
            text = "".join(rng.choice("abA%_") for _ in range(rng.randrange(1, 5)))
            pattern = like(text + "a", rng.choice([PatternKind.LIKE, PatternKind.ILIKE]))
            patterns[atom] = pattern
            add(index, atom, pattern)
        texts = ["".join(rng.choice("abA") for _ in range(rng.randrange(6))) for _ in range(30)]
        expected = {
            (at, atom)
            for at, text in enumerate(texts)
            for atom, pattern in patterns.items()
            if matches(text, pattern)
        }
        assert hits(index, [*texts, None]) == expected
