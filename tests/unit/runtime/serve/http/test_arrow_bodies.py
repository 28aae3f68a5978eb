"""Arrow streams as tables: only what is declared, and never much more memory than their bytes."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.serve.http import arrow_bodies
from cqc.runtime.serve.http.arrow_bodies import read_arrow
from cqc.runtime.serve.refusal import Refusal, Status
from tests.support.relations import relation

DECLARED = relation({"ts": T.BIGINT, "name": T.STRING, "ok": T.BOOLEAN})


def body(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def refused(table: pa.Table | bytes, most_rows: int = 10) -> Refusal:
    with pytest.raises(Refusal) as found:
        read_arrow(DECLARED, table if isinstance(table, bytes) else body(table), most_rows)
    return found.value


def test_declared_columns_are_taken_in_any_case_and_others_are_not() -> None:
    table = read_arrow(DECLARED, body(pa.table({"TS": [1], "other": ["x"], "name": ["a"]})), 10)
    assert table.to_pydict() == {"TS": [1], "name": ["a"]}
    nothing = read_arrow(DECLARED, body(pa.table({"other": [1, 2]})), 10)
    assert nothing.num_rows == 2


def test_what_is_no_stream_is_malformed() -> None:
    whole = body(pa.table({"ts": [1]}))
    for broken in (b"", b"nothing of the kind", whole[: len(whole) // 2]):
        assert refused(broken).status is Status.MALFORMED


def test_there_are_at_most_so_many_rows() -> None:
    read_arrow(DECLARED, body(pa.table({"ts": range(10)})), 10)
    assert refused(pa.table({"ts": range(11)})).status is Status.TOO_LARGE


def test_a_text_that_every_row_refers_to_counts_for_every_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arrow_bodies, "_MOST_TEXT", 1_000)
    for texts in (
        pa.array(["x" * 200] * 6).dictionary_encode(),
        pa.array(["x" * 200] * 6, pa.string_view()),
    ):
        assert refused(pa.table({"name": texts})).status is Status.TOO_LARGE
    read_arrow(DECLARED, body(pa.table({"name": pa.array(["x" * 200] * 6)})), 10)


def test_values_with_parts_fit_no_type_and_are_left_behind() -> None:
    table = read_arrow(
        DECLARED, body(pa.table({"ts": [[1] * 100, None], "ok": [{"a": 1}, None]})), 10
    )
    assert pa.types.is_boolean(table["ts"].type)
    assert table["ts"].null_count == table["ok"].null_count == 1
    assert not pa.types.is_boolean(table["ok"].type)


def test_run_end_encoding_is_not_taken() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([5], pa.int32()), pa.array([1]))
    assert refused(pa.table({"ts": runs})).status is Status.INVALID
