"""Result blocks as Arrow tables, one a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from cqc.runtime.sinks.parquet import table_of_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.deliver.results import ResultBlock


def tables_of(blocks: Sequence[ResultBlock]) -> dict[str, pa.Table]:
    """Result blocks as one Arrow table a query."""
    by_query: dict[str, list[pa.Table]] = {}
    for block in blocks:
        if len(block):
            by_query.setdefault(block.query, []).append(table_of_block(block))
    return {query: pa.concat_tables(tables) for query, tables in by_query.items()}
