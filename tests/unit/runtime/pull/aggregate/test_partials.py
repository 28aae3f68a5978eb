"""Partial aggregates of two runs of values put together are those of all values."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.pull.aggregate.partials import (
    COUNT,
    DOUBLE_LEAST,
    DOUBLE_MOST,
    HIGH,
    LOW,
    REST,
    SPECIAL,
    SUM,
    WHOLE_LEAST,
    WHOLE_MOST,
    merge_partials,
    partials_by_group,
)


@pytest.mark.parametrize("seed", range(3))
def test_whole_numbers_are_exact_whatever_their_size(seed: int) -> None:
    rng = Random(seed)
    values = [rng.choice([2**63 - 1, -(2**63), rng.randint(-9, 9), None]) for _ in range(60)]
    groups = np.array([rng.randrange(3) for _ in values])
    partials = partials_by_group(from_python(T.BIGINT, values), groups, 3)
    for group, partial in enumerate(partials.tolist()):
        own = [
            v
            for v, at in zip(values, groups.tolist(), strict=True)
            if at == group and v is not None
        ]
        assert partial[COUNT] == len(own)
        assert (partial[HIGH] << 32) + partial[LOW] == sum(own)
        assert (partial[WHOLE_LEAST], partial[WHOLE_MOST]) == (min(own), max(own))


def test_doubles_put_together_are_rounded_once() -> None:
    rng = Random(1)
    values = [rng.uniform(-1, 1) * 10.0 ** rng.randint(-8, 8) for _ in range(400)]
    groups = np.arange(400) % 7
    parts = partials_by_group(from_python(T.DOUBLE, values), groups, 7)
    (whole,) = merge_partials(parts, np.zeros(7, np.int64), 1).tolist()
    assert whole[SUM] + whole[REST] == math.fsum(values)
    assert whole[COUNT] == 400


def test_what_is_not_finite_is_kept_apart_and_nan_is_the_greatest() -> None:
    column = from_python(T.DOUBLE, [1.0, math.inf, math.nan, None])
    (partial,) = partials_by_group(column, np.zeros(4, np.int64), 1).tolist()
    assert (partial[COUNT], partial[SUM], partial[DOUBLE_LEAST]) == (3, 1.0, 1.0)
    assert math.isnan(partial[SPECIAL])
    assert math.isnan(partial[DOUBLE_MOST])


def test_of_texts_only_those_that_are_there_count() -> None:
    column = from_python(T.STRING, ["a", None, "b"])
    assert partials_by_group(column, np.zeros(3, np.int64), 1)[0, COUNT] == 2
