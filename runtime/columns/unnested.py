"""Rows of a view with UNNEST: one for each element of an array, beside the columns of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ArrayType, ColumnType, MapType
from cqc.runtime.columns.columns import Column, take
from cqc.runtime.columns.nested import (
    column_of_inner,
    field_of,
    nested_of,
    offsets_of,
    parts_type,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.views import Unnest


def unnested(
    relation: Relation,
    unnest: Unnest,
    columns: Sequence[Column],
    times_us: NDArray[np.int64],
) -> tuple[list[Column], NDArray[np.int64]]:
    """The columns of the view, the fields of its structs included, and the event times of its rows."""
    array = columns[unnest.output]
    nested = nested_of(array)
    lengths = np.diff(offsets_of(nested))
    counts = np.maximum(lengths, 1) if unnest.outer else lengths
    rows = np.repeat(np.arange(len(lengths)), counts)
    first = np.cumsum(counts) - counts
    number = np.arange(len(rows)) - first[rows]
    there = lengths[rows] > 0
    places = (np.cumsum(lengths) - lengths)[rows] + number
    inner = nested.flatten().take(pa.array(np.where(there, places, 0), mask=~there))
    kept = [take(each, rows) for at, each in enumerate(columns) if at != unnest.output]
    kept.append(column_of_inner(_element(array.type), inner))
    if unnest.ordinality:
        kept.append(Column(ColumnType.BIGINT, number + 1, None if there.all() else there))
    return with_parts(relation, kept), times_us[rows]


def _element(type_: ColumnType) -> ColumnType:
    if isinstance(type_, MapType):
        return parts_type(type_)
    assert isinstance(type_, ArrayType)
    return type_.element


def with_parts(relation: Relation, columns: list[Column]) -> list[Column]:
    """The columns of a relation with those of the fields of structs after them."""
    for column in relation.columns[len(columns) :]:
        assert column.inside is not None
        whole, number = column.inside
        columns.append(column_of_inner(column.type, field_of(nested_of(columns[whole]), number)))
    return columns
