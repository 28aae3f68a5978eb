from __future__ import annotations

from cqc.compiler.meaning.bound import EndKind, Frame, FrameEnd
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python
from cqc.runtime.pull.over.ordering import SortKey
from cqc.runtime.pull.over.partitions import Partitions, arrange

BEFORE_TWO = FrameEnd(EndKind.BEFORE, 2)


def partitions(values: list[object], *, descending: bool = False) -> Partitions:
    key = SortKey(from_python(ColumnType.BIGINT, values), descending, nulls_first=not descending)
    return arrange([], [key], len(values), by_time=False)


def test_rows_are_sorted_with_their_partitions_and_peers() -> None:
    keys = from_python(ColumnType.STRING, ["b", "a", "b", "a", "a"])
    times = SortKey(from_python(ColumnType.BIGINT, [1, 1, 2, 2, 2]), False, nulls_first=True)
    found = arrange([keys], [times], 5, by_time=True)
    assert found.rows.tolist() == [0, 2, 1, 3, 4]
    assert found.first.tolist() == [0, 0, 2, 2, 2]
    assert found.peer_last.tolist() == [1, 2, 3, 5, 5]


def test_a_range_reaches_by_value_and_null_only_its_peers() -> None:
    found = partitions([None, 1, 2, 4, None])
    begins, stops = found.ends(Frame(False, BEFORE_TWO, FrameEnd(EndKind.CURRENT)))
    assert list(zip(begins.tolist(), stops.tolist(), strict=True)) == [
        (0, 2),
        (0, 2),
        (2, 3),
        (2, 4),
        (3, 5),
    ]


def test_a_range_of_a_descending_key_reaches_to_greater_values() -> None:
    found = partitions([5, 4, 1], descending=True)
    begins, _ = found.ends(Frame(False, BEFORE_TWO, FrameEnd(EndKind.CURRENT)))
    assert begins.tolist() == [0, 0, 2]


def test_a_silent_key_begins_a_new_partition() -> None:
    times = SortKey(from_python(ColumnType.BIGINT, [1, 2, 9]), False, nulls_first=True)
    assert arrange([], [times], 3, by_time=True, idle_us=5_000_000).first.tolist() == [0, 0, 2]
