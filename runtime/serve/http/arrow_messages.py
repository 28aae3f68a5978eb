"""A look into the messages of an Arrow stream before anything is unpacked.

A compressed body of a few kilobytes can unpack to gigabytes, and Arrow has no limit for that. So compressed record batches
are refused; whether a message is one stands in its metadata, a flatbuffer of which three fields are read here: the kind of the
message's header (1), the header (2), and within a record batch its compression (3), within a dictionary batch its data (1).
"""

from __future__ import annotations

import struct

import pyarrow as pa

_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
_KIND, _HEADER = 1, 2
_DATA_OF_DICTIONARY = 1
_COMPRESSION = 3


def refuse_compressed(stream: bytes) -> None:
    """Look at every message of a stream.

    Raises:
        ValueError: when one is compressed or cannot be understood.
    """
    for message in pa.ipc.MessageReader.open_stream(stream):
        try:
            compressed = _is_compressed(memoryview(message.metadata))
        except struct.error as error:
            raise ValueError("a message has broken metadata") from error
        if compressed:
            raise ValueError("compressed streams are not taken")


def _is_compressed(metadata: memoryview) -> bool:
    (message,) = struct.unpack_from("<I", metadata, 0)
    kind_at = _field(metadata, message, _KIND)
    kind = 0 if kind_at is None else struct.unpack_from("<B", metadata, kind_at)[0]
    batch = _table(metadata, message, _HEADER)
    if kind == _DICTIONARY_BATCH and batch is not None:
        batch = _table(metadata, batch, _DATA_OF_DICTIONARY)
    elif kind != _RECORD_BATCH:
        return False
    return batch is not None and _field(metadata, batch, _COMPRESSION) is not None


def _table(data: memoryview, table: int, field: int) -> int | None:
    """Where the table that a field refers to begins."""
    at = _field(data, table, field)
    return None if at is None else at + int(struct.unpack_from("<I", data, at)[0])


def _field(data: memoryview, table: int, field: int) -> int | None:
    """Where a field of a table is; None when it has none."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise struct.error("no such place")
    (size,) = struct.unpack_from("<H", data, vtable)
    slot = 4 + 2 * field
    if slot + 2 > size:
        return None
    (offset,) = struct.unpack_from("<H", data, vtable + slot)
    return table + int(offset) if offset else None
