"""A look into Arrow messages: compressed ones are refused before anything is unpacked, broken ones too."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pytest

from cqc.runtime.serve.http.arrow_messages import refuse_compressed

TABLES = {
    "numbers": pa.table({"x": list(range(1_000))}),
    "dictionary": pa.table({"x": pa.array(["a", "b"] * 500).dictionary_encode()}),
    "nothing": pa.table({"x": pa.array([], pa.int64())}),
}


def stream(table: pa.Table, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    options: Any = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("kind", TABLES)
def test_plain_streams_pass(kind: str) -> None:
    refuse_compressed(stream(TABLES[kind]))


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize("kind", ["numbers", "dictionary"])
def test_compressed_batches_and_dictionaries_are_refused(kind: str, compression: str) -> None:
    with pytest.raises(ValueError, match="compressed streams are not taken"):
        refuse_compressed(stream(TABLES[kind], compression))


def test_a_damaged_stream_ends_in_an_error_of_its_own_or_passes() -> None:
    """Whatever byte is wrong: no other error, and no crash."""
    whole = stream(TABLES["dictionary"])[:600]
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        try:
            refuse_compressed(bytes(damaged))
        except (ValueError, OSError, pa.ArrowException):
            continue
