"""Base tuples on disk come back as they were, from any position on, and damage is noticed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.packet import Packet
from cqc.runtime.files.sealed import DamagedError
from cqc.runtime.run.durable.tuple_files import read_segments, write_segment
from tests.support.relations import EVERYTHING

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.run.durable.tuple_files import Segment

TEXTS = ["é", None, "", "x" * 300]


def packet() -> Packet:
    columns = (
        from_python(T.TIMESTAMP, [1, 2, None, 4]),
        from_python(T.BIGINT, [2**63 - 1, None, -(2**63), 0]),
        from_python(T.DOUBLE, [float("nan"), None, float("inf"), -0.0]),
        from_python(T.STRING, TEXTS),
        from_python(T.BOOLEAN, [True, None, False, True]),
    )
    return Packet(columns, np.array([1, 2, 3, 4]), np.array([10, 11, 12, 13]))


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    return write_segment(tmp_path, "0-s.arrow", "s", packet(), 100)


def test_every_value_comes_back(segment: Segment, tmp_path: Path) -> None:
    found = read_segments(tmp_path, EVERYTHING, [segment], 0)
    assert found is not None
    for given, back in zip(packet().columns, found.columns, strict=True):
        assert back.is_valid().tolist() == given.is_valid().tolist()
    assert found.columns[1].values[[0, 2]].tolist() == [2**63 - 1, -(2**63)]
    assert np.isnan(found.columns[2].values[0])
    assert np.signbit(found.columns[2].values[3])
    assert found.columns[3].values.to_pylist() == TEXTS
    assert (found.ts_us.tolist(), found.arrival.tolist()) == ([1, 2, 3, 4], [10, 11, 12, 13])


def test_positions_before_the_first_are_left_out(segment: Segment, tmp_path: Path) -> None:
    found = read_segments(tmp_path, EVERYTHING, [segment], 103)
    assert found is not None
    assert found.arrival.tolist() == [13]
    assert read_segments(tmp_path, EVERYTHING, [segment], 104) is None


def test_files_follow_one_another(segment: Segment, tmp_path: Path) -> None:
    more = write_segment(tmp_path, "1-s.arrow", "s", packet(), 104)
    found = read_segments(tmp_path, EVERYTHING, [segment, more], 102)
    assert found is not None
    assert found.arrival.tolist() == [12, 13, 10, 11, 12, 13]


def test_a_flipped_bit_a_short_file_and_a_missing_one_are_noticed(
    segment: Segment, tmp_path: Path
) -> None:
    path = tmp_path / segment.file
    whole = path.read_bytes()
    for damaged in (bytes([whole[0] ^ 1]) + whole[1:], whole[:-1]):
        path.write_bytes(damaged)
        with pytest.raises(DamagedError, match="checksum"):
            read_segments(tmp_path, EVERYTHING, [segment], 0)
    path.unlink()
    with pytest.raises(DamagedError, match="missing"):
        read_segments(tmp_path, EVERYTHING, [segment], 0)


def test_the_tuples_of_another_stream_are_not_taken(segment: Segment, tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match="does not hold the tuples of s"):
        read_segments(tmp_path, EVERYTHING, [replace(segment, count=5)], 0)
