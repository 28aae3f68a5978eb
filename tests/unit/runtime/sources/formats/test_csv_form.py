"""CSV as WITH says that it is written."""

from __future__ import annotations

import io
from typing import Any

import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.intake.typed_batch import join_taken
from cqc.runtime.sources.formats.csv import read_csv
from tests.support.relations import relation


def rows(data: bytes, **options: str) -> list[tuple[Any, ...]]:
    declared = relation({"ts": T.BIGINT, "name": T.STRING, "x": T.DOUBLE}, options=options)
    taken = join_taken(list(read_csv(declared, io.BytesIO(data), "f.csv")))
    assert not taken.rejects
    return list(zip(*map(to_python, taken.columns), strict=True))


@pytest.mark.parametrize("delimiter", [";", "|", "tab", "\\t", "^", "]"])
def test_a_delimiter(delimiter: str) -> None:
    d = "\t" if delimiter in ("tab", "\\t") else delimiter
    data = f'ts{d}name{d}x\n1{d}a,b{d}2\n2{d}"c{d}d"{d}3\n'.encode()
    assert rows(data, delimiter=delimiter) == [(1, "a,b", 2.0), (2, f"c{d}d", 3.0)]


def test_a_quote() -> None:
    data = b"ts,name,x\n1,'a,''b',2\n2,\"c,3\n"
    assert rows(data, quote="'") == [(1, "a,'b", 2.0), (2, '"c', 3.0)]


def test_no_header() -> None:
    assert rows(b"1,a,2\n2,b,3\n", header="false") == [(1, "a", 2.0), (2, "b", 3.0)]


def test_texts_that_mean_null_when_they_are_not_quoted() -> None:
    data = b'ts,name,x\n1,NA,-\n2,"NA",1\n'
    assert rows(data, nulls="NA,-") == [(1, None, None), (2, "NA", 1.0)]
    odd = data + b'3,a"b,1\n'  # a quote in an odd place: read record by record
    assert rows(odd, nulls="NA,-")[:2] == [(1, None, None), (2, "NA", 1.0)]
