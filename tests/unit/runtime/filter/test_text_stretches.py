"""Long texts in stretches: every row once, in order, and the hits of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.meaning.bound import PatternKind
from cqc.compiler.meaning.normal import PatternAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, cut, from_python, to_python
from cqc.runtime.columns.repeated_text import RepeatedText
from cqc.runtime.filter import text_stretches
from cqc.runtime.filter.atoms import Atoms


def texts_of(lengths: list[int | None]) -> Column:
    return from_python(
        ColumnType.STRING, [None if each is None else "x" * each for each in lengths]
    )


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_stretches, "STRETCH_BYTES", 10)


@pytest.mark.parametrize(
    "lengths",
    [[], [3], [3, 4], [30], [9, 2, 9, 30, 1, 1, 1, 40], [None, 30, None, None, 30], [10] * 7],
)
def test_every_row_is_in_one_stretch(lengths: list[int | None]) -> None:
    column = texts_of(lengths)
    stretches = text_stretches.text_stretches(column)
    assert [at for start, stop in stretches for at in range(start, stop)] == [*range(len(lengths))]
    rows = [to_python(cut(column, start, stop)) for start, stop in stretches]
    assert all(len(row) <= 1 or sum(len(text or "") for text in row[:-1]) < 10 for row in rows) or (
        len(stretches) == 1
    )


def test_numbers_are_one_stretch() -> None:
    column = from_python(ColumnType.BIGINT, [*range(1000)])
    assert text_stretches.text_stretches(column) == [(0, 1000)]


def test_hits_are_those_of_the_whole_column() -> None:
    atoms = Atoms((ColumnType.STRING,))
    for pattern in ("%NET%", "net%", "%.exe", "cmd.exe", "%n_t%"):
        atom = PatternAtom(0, PatternKind.ILIKE, pattern, "\\", negated=False)
        atoms.leaf(atom)
    texts = ["c:\\Net.exe", None, "cmd.exe", "nothing at all " * 3, "NET", "ÄÖ net.EXE", ""] * 9
    column = from_python(ColumnType.STRING, texts)
    assert len(text_stretches.text_stretches(column)) > 5
    found = {
        (int(row), int(atom))
        for rows, ids in atoms.hits_of(0, column)
        for row, atom in zip(rows, ids, strict=True)
    }
    single = {
        (row, int(atom))
        for row in range(len(texts))
        for _, ids in atoms.hits_of(0, cut(column, row, row + 1))
        for atom in ids
    }
    assert found == single
    assert len(found) > 50


def test_texts_by_codes_are_cut_by_what_their_rows_hold() -> None:
    distinct = from_python(ColumnType.STRING, ["x" * 50, "y"]).values
    column = RepeatedText(distinct, np.array([0, 1, 1, 0], np.int32), None)
    stretches = text_stretches.text_stretches(column)
    assert [at for start, stop in stretches for at in range(start, stop)] == [0, 1, 2, 3]
    assert len(stretches) > 1
