"""What texts hit is asked once, until the queries are others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.normal import Interval, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, from_python
from cqc.runtime.columns.repeated_text import repeated_text
from cqc.runtime.filter import known_texts
from cqc.runtime.filter.atoms import Atoms
from cqc.runtime.filter.known_texts import KnownTexts, TextsFound

if TYPE_CHECKING:
    from cqc.runtime.filter.point_index import Hits

TEXTS = ["net", "zip", "cmd", None, "abc", "net"] * 20


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


class Asked:
    """Counts the texts that are searched."""

    def __init__(self, atoms: Atoms, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        before = atoms.hits_of

        def hits_of(number: int, column: Column) -> list[Hits]:
            self.texts += column.values.to_pylist()
            return before(number, column)

        monkeypatch.setattr(atoms, "hits_of", hits_of)


def texts_of(texts: list[str | None]) -> Column:
    return from_python(ColumnType.STRING, texts)


def coded(texts: list[str | None]) -> Column:
    column = repeated_text(pa.array(texts).dictionary_encode())
    assert column is not None
    return column


def check(found: TextsFound | None, texts: list[str | None], atoms: Atoms) -> None:
    assert found is not None
    expected = np.empty(len(texts), np.int32)
    atoms.cuts[0].locate(texts_of(texts), expected)
    assert found.buckets_of_rows(int(expected[texts.index(None)])).tolist() == expected.tolist()
    for number, text in zip(found.numbers.tolist(), texts, strict=True):
        assert (number < 0) == (text is None)
        hit = 0 if number < 0 else found.starts[number + 1] - found.starts[number]
        assert hit == (text in ("net", "cmd"))


@pytest.mark.parametrize("held", [texts_of, coded])
def test_each_text_is_searched_once_whatever_packet_it_is_in(
    atoms: Atoms, monkeypatch: pytest.MonkeyPatch, held: object
) -> None:
    asked, known = Asked(atoms, monkeypatch), KnownTexts()
    make = held if callable(held) else texts_of
    check(known.look(0, make(TEXTS), atoms), TEXTS, atoms)
    assert sorted(asked.texts) == ["abc", "cmd", "net", "zip"]
    later = ["new", *TEXTS]
    check(known.look(0, make(later), atoms), later, atoms)
    check(known.look(0, make(later), atoms), later, atoms)
    assert sorted(asked.texts) == ["abc", "cmd", "net", "new", "zip"]
    assert known.nbytes > 0


def test_each_column_has_its_own(atoms: Atoms, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, known = Asked(atoms, monkeypatch), KnownTexts()
    known.look(0, texts_of(TEXTS), atoms)
    known.look(1, texts_of(TEXTS), atoms)
    assert len(asked.texts) == 8


def test_nothing_is_known_once_queries_changed(
    atoms: Atoms, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, known = Asked(atoms, monkeypatch), KnownTexts()
    known.look(0, texts_of(TEXTS), atoms)
    known.forget()
    assert known.nbytes == 0
    check(known.look(0, texts_of(TEXTS), atoms), TEXTS, atoms)
    assert len(asked.texts) == 8


def test_a_handful_of_rows_is_not_looked_up(atoms: Atoms) -> None:
    assert KnownTexts().look(0, texts_of(TEXTS[:20]), atoms) is None


def test_a_dictionary_of_more_texts_than_rows_is_asked_for_those_that_are_there(
    atoms: Atoms, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(atoms, monkeypatch)
    every = [*TEXTS, *(f"other {at}" for at in range(500))]
    column = coded(every)
    some = column.taken(slice(0, len(TEXTS)))  # type: ignore[attr-defined]
    check(KnownTexts().look(0, some, atoms), TEXTS, atoms)
    assert sorted(asked.texts) == ["abc", "cmd", "net", "zip"]


def test_a_column_whose_texts_are_all_new_is_left_alone_for_a_while(atoms: Atoms) -> None:
    known = KnownTexts()
    answers = [
        known.look(0, texts_of([f"{packet} {row}" for row in range(100)]), atoms)
        for packet in range(20)
    ]
    there = [answer is not None for answer in answers]
    assert there[:2] == [True, True]
    assert there[2:18] == [False] * 16
    assert there[18]


def test_more_bytes_than_are_kept_are_not_looked_up(
    atoms: Atoms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_texts, "_MOST_BYTES", 64 * 1024)
    known = KnownTexts()
    check(known.look(0, texts_of(TEXTS), atoms), TEXTS, atoms)
    long: list[str | None] = [f"{row} " * 1_000 for row in range(100)]
    assert known.look(0, texts_of(long), atoms) is None
    assert known.nbytes < 64 * 1024
