"""What distinct texts hit is asked once, until the texts or the queries are others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.normal import Interval, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.filter import known_texts
from cqc.runtime.filter.atoms import Atoms
from cqc.runtime.filter.known_texts import KnownTexts
from tests.support.formula_judge import packet_of


@pytest.fixture
def atoms() -> Atoms:
    """`column < 'm'`, and a list that has 'cmd' and 'net'."""
    found = Atoms((ColumnType.STRING, ColumnType.STRING))
    for column in (0, 1):
        found.leaf(ValueAtom(column, ColumnType.STRING, (Interval(None, False, "m", False),)))
        points = (Interval("cmd", True, "cmd", True), Interval("net", True, "net", True))
        found.leaf(ValueAtom(column, ColumnType.STRING, points))
    for cuts in found.cuts.values():
        cuts.settle()
    return found


def test_texts_are_located_and_their_hits_are_by_code(atoms: Atoms) -> None:
    texts = pa.array(["net", "zip", "cmd", "abc"])
    found = KnownTexts().look(0, texts, atoms)
    column = packet_of((ColumnType.STRING,) * 2, [(text, None) for text in texts.to_pylist()])
    expected = np.empty(4, np.int32)
    atoms.cuts[0].locate(column.columns[0], expected)
    assert found.buckets.tolist() == expected.tolist()
    lengths = np.diff(found.hits.starts).tolist()
    assert lengths == [1, 0, 1, 0]
    assert len(set(found.hits.ids.tolist())) == 1


def test_equal_texts_are_not_looked_at_again(atoms: Atoms) -> None:
    known = KnownTexts()
    first = known.look(0, pa.array(["net", "cmd"]), atoms)
    assert known.has(0, pa.array(["net", "cmd"]))
    assert known.look(0, pa.array(["net", "cmd"]), atoms) is first
    assert known.nbytes == first.nbytes > 0


@pytest.mark.parametrize("other", [["cmd", "net"], ["net"], ["net", "cmd", "zip"], ["net", "CMD"]])
def test_other_texts_take_the_place_of_the_last_ones(atoms: Atoms, other: list[str]) -> None:
    known = KnownTexts()
    known.look(0, pa.array(["net", "cmd"]), atoms)
    assert not known.has(0, pa.array(other))
    found = known.look(0, pa.array(other), atoms)
    assert found.distinct.to_pylist() == other
    assert known.has(0, pa.array(other))
    assert not known.has(0, pa.array(["net", "cmd"]))


def test_each_column_has_its_own(atoms: Atoms) -> None:
    known, texts = KnownTexts(), pa.array(["net", "cmd"])
    known.look(0, texts, atoms)
    assert not known.has(1, texts)
    known.look(1, texts, atoms)
    assert known.has(0, texts)
    assert known.has(1, texts)


def test_nothing_is_known_once_queries_changed(atoms: Atoms) -> None:
    known, texts = KnownTexts(), pa.array(["net", "cmd"])
    known.look(0, texts, atoms)
    known.forget()
    assert not known.has(0, texts)
    assert known.nbytes == 0


def test_more_bytes_than_are_kept_are_found_and_forgotten(
    atoms: Atoms, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = KnownTexts()
    known.look(0, pa.array(["net"]), atoms)
    monkeypatch.setattr(known_texts, "_MOST_BYTES", 1_000)
    texts = pa.array(["net" * 1_000, "cmd"])
    assert np.diff(known.look(0, texts, atoms).hits.starts).tolist() == [0, 1]
    assert not known.has(0, texts)
    assert known.nbytes == 0
