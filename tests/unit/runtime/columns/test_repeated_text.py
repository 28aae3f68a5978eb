"""Text by its distinct values: the same texts, however they are held."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import (
    Column,
    concatenate,
    cut,
    from_python,
    select,
    take,
    to_arrow,
    to_python,
)
from cqc.runtime.columns.convert.arrow_columns import column_of_arrow
from cqc.runtime.columns.repeated_text import (
    CodedHits,
    RepeatedText,
    Repetition,
    no_texts,
    repeated_text,
)

TEXTS = ["cmd.exe", "net.exe", "cmd.exe", None, "ä", "cmd.exe", None, "ä"]


def repeated(texts: list[str | None]) -> RepeatedText:
    column = repeated_text(pa.array(texts, pa.string()).dictionary_encode())
    assert column is not None
    return column


def test_texts_by_codes_are_the_texts_whatever_is_taken_of_them() -> None:
    column, plain = repeated(TEXTS), from_python(ColumnType.STRING, TEXTS)
    positions = np.array([7, 3, 0, 0], np.int64)
    mask = np.array([True, False] * 4)
    assert to_python(column) == TEXTS
    assert to_arrow(column).equals(to_arrow(plain))
    assert len(column) == len(TEXTS)
    for some in (
        lambda each: take(each, positions),
        lambda each: select(each, mask),
        lambda each: cut(each, 2, 6),
        lambda each: cut(each, 6, 2),
        lambda each: concatenate([each, plain]),
    ):
        assert to_python(some(column)) == to_python(some(plain))


def test_columns_by_codes_are_joined_by_the_distinct_texts_of_all() -> None:
    others = ["ä", "new", "new", "cmd.exe"]
    for parts in ([TEXTS, others], [others, TEXTS, TEXTS], [TEXTS, TEXTS]):
        joined = concatenate([repeated(part) for part in parts])
        assert isinstance(joined, RepeatedText)
        assert to_python(joined) == [text for part in parts for text in part]
        assert len(set(joined.distinct.to_pylist())) == len(joined.distinct)
    one = repeated(TEXTS)
    again = concatenate([cut(one, 0, 3), cut(one, 3, 8)])
    assert isinstance(again, RepeatedText)
    assert again.distinct is one.distinct
    assert to_python(again) == TEXTS


def test_columns_without_any_text_are_joined_to_another_one() -> None:
    joined = concatenate([no_texts(2), no_texts(3)])
    assert isinstance(joined, RepeatedText)
    assert to_python(joined) == [None] * 5
    assert to_python(concatenate([joined, repeated(TEXTS)])) == [None] * 5 + TEXTS


def test_what_is_taken_keeps_its_codes() -> None:
    assert isinstance(take(repeated(TEXTS), np.array([1, 2], np.int64)), RepeatedText)


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", "b"]).dictionary_encode().slice(0, 1),  # more distinct values than rows
        pa.array([None, None], pa.string()).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["a", None])),
    ],
)
def test_a_dictionary_that_saves_nothing_or_holds_null_is_not_kept(array: pa.Array) -> None:
    assert repeated_text(array) is None
    column, bad = column_of_arrow(ColumnType.STRING, array)
    assert bad is None
    assert to_python(column) == array.to_pylist()


def test_arrow_dictionaries_of_text_come_in_by_codes() -> None:
    for type_ in (pa.string(), pa.large_string()):
        array = pa.array(TEXTS, type_).dictionary_encode()
        column, bad = column_of_arrow(ColumnType.STRING, array)
        assert isinstance(column, RepeatedText)
        assert bad is None
        assert to_python(column) == TEXTS


@pytest.mark.parametrize("type_", [pa.int8(), pa.int32(), pa.int64()])
def test_what_is_in_the_place_of_null_is_no_code(type_: pa.DataType) -> None:
    """Arrow leaves anything there, and a slice begins somewhere in its buffers."""
    raw = np.array([99, 1, 99, 0, 1, 99], type_.to_pandas_dtype())
    held = pa.Array.from_buffers(
        type_,
        6,
        [pa.py_buffer(np.packbits([0, 1, 0, 1, 1, 0], bitorder="little")), pa.py_buffer(raw)],
    )
    array = pa.DictionaryArray.from_arrays(held, pa.array(["a", "b"]), safe=False)
    column = repeated_text(array.slice(1, 5))
    assert column is not None
    assert column.codes.tolist() == [1, 0, 0, 1, 0]
    assert column.codes.dtype == np.int32
    assert to_python(column) == ["b", None, "a", "b", None]


def test_a_column_is_encoded_only_while_it_repeats() -> None:
    same = from_python(ColumnType.STRING, ["a", "b"] * 100)
    different = from_python(ColumnType.STRING, [str(number) for number in range(200)])
    repetition = Repetition()
    assert isinstance(repetition.encode(same), RepeatedText)
    assert repetition.encode(different) is different
    looks = [isinstance(repetition.encode(same), RepeatedText) for _ in range(20)]
    assert looks.count(True) == 20 - looks.index(
        True
    )  # left alone for a while, then looked at again
    assert looks.index(True) > 0


def test_few_rows_are_left_as_they_are() -> None:
    few = from_python(ColumnType.STRING, ["a", "a"])
    assert Repetition().encode(few) is few


@pytest.mark.parametrize("seed", range(20))
def test_hits_of_distinct_values_reach_every_row_that_has_them(seed: int) -> None:
    rng = random.Random(seed)
    texts = [rng.choice(["a", "b", "c", "d", None]) for _ in range(rng.randrange(1, 60))] + ["a"]
    column = repeated(texts)
    names = column.distinct.to_pylist()
    pairs = [(rng.randrange(len(names)), rng.randrange(9)) for _ in range(rng.randrange(12))]
    values, ids = (np.array([pair[at] for pair in pairs], np.int32) for at in (0, 1))
    hits = CodedHits(values, ids, len(names))
    found = [
        (row, hit)
        for row, text in enumerate(texts)
        if text is not None
        for hit in hits.ids[
            hits.starts[names.index(text)] : hits.starts[names.index(text) + 1]
        ].tolist()
    ]
    expected = [
        (row, hit) for row, text in enumerate(texts) for value, hit in pairs if text == names[value]
    ]
    assert sorted(found) == sorted(expected)


def test_long_texts_that_are_all_new_are_left_as_they_are() -> None:
    new = from_python(ColumnType.STRING, [f"{row:04}" * 200 for row in range(600)])
    few = from_python(ColumnType.STRING, [f"{row % 50:04}" * 200 for row in range(600)])
    short = from_python(ColumnType.STRING, [f"{row // 4:04}" for row in range(600)])
    assert Repetition().encode(new) is new
    for column in (few, short):
        encoded = Repetition().encode(column)
        assert isinstance(encoded, RepeatedText)
        assert to_python(encoded) == to_python(column)


def test_texts_that_no_row_has_are_not_taken_along() -> None:
    joined: Column = repeated([f"text {number}" for number in range(50)])
    for begin in range(0, 500, 50):
        more = repeated([f"text {number}" for number in range(begin, begin + 50)])
        rest = cut(joined, len(joined) - 2, len(joined))
        joined = concatenate([rest, more])
        assert isinstance(joined, RepeatedText)
        assert len(joined.distinct) <= 52
        assert to_python(joined) == to_python(rest) + to_python(more)
