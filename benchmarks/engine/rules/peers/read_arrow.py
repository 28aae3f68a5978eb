"""Columns of a file by Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_BLOCK = 8 << 20


def read_columns(path: Path, columns: Sequence[str], *, dictionaries: bool = False) -> Any:
    """The columns as a table; nothing else of the file is parsed."""
    names = list(dict.fromkeys(columns))
    if path.suffix == ".parquet":
        coded = [name for name in names if name != "ts"] if dictionaries else None
        return pq.read_table(path, columns=names, read_dictionary=coded)
    schema = pa.schema([(name, _type(name)) for name in names])
    parsing = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return pj.read_json(path, pj.ReadOptions(block_size=_BLOCK), parsing)


def _type(name: str) -> Any:
    return pa.timestamp("us") if name == "ts" else pa.string()
