"""Input cut into ranges holds exactly the rows of the whole files, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cqc
from cqc.runtime.columns.columns import to_python
from cqc.runtime.run.input_plan import Planner, add_ranges
from cqc.runtime.sources.range import Range
from cqc.runtime.sources.read_range import read_range

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation

FILES = {
    "plain.csv": "ts,name\n1,a\n2,b\n3,c\n",
    "no_end.csv": "ts,name\n1,a\n2,b",
    "quoted.csv": 'ts,name\n1,"a\nb"\n2,"c"",\n"\n3,d\n',
    "odd.csv": 'ts,name\n1,a"b\n2,"open\n3,c\n',
    "bom.csv": "\ufeff\n\nts,name\r\n1,a\r\n2,b\r\n",
    "only_header.csv": "ts,name\n",
    "empty.csv": "",
    "lines.jsonl": '{"ts": 1, "name": "a"}\n\n{"ts": 2}\nbad\n{"ts": 3}',
}


@pytest.fixture
def relation() -> Relation:
    return cqc.compile("CREATE STREAM s (ts BIGINT, name STRING)").catalog.relations["s"]


def rows_of(
    relation: Relation, ranges: list[Range]
) -> tuple[list[tuple[object, ...]], int, list[str]]:
    taken = [each for part in ranges for each in read_range(relation, part)]
    rows = [row for each in taken for row in zip(*map(to_python, each.columns), strict=True)]
    reasons = [reject.reason for each in taken for reject in each.rejects]
    return rows, sum(each.read for each in taken), reasons


def planned(planner: Planner) -> list[list[Range]]:
    batches = []
    while batch := planner.next_batch({}):
        batches.append([Range.from_json(part.to_json()) for part in batch])
    planner.close()
    return batches


@pytest.mark.parametrize("rows", [1, 2, None])
@pytest.mark.parametrize("name", FILES)
def test_ranges_of_a_text_file_hold_its_rows(
    name: str, rows: int | None, relation: Relation, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name].encode())
    whole = rows_of(relation, [Range("s", str(path), path.suffix[1:], 0, None)])
    batches = planned(Planner({"s": (relation, path)}, rows_per_batch=rows))
    assert rows_of(relation, [part for batch in batches for part in batch]) == whole
    if rows is not None and name != "odd.csv":
        assert all(rows_of(relation, batch)[1] <= rows for batch in batches)


@pytest.mark.parametrize("rows", [1, 3, 4, None])
def test_ranges_of_a_parquet_file_hold_its_rows(
    rows: int | None, relation: Relation, tmp_path: Path
) -> None:
    table = pa.table({"ts": range(10), "name": [str(number) for number in range(10)]})
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=4)
    batches = planned(Planner({"s": (relation, tmp_path / "s.parquet")}, rows_per_batch=rows))
    found, read, _ = rows_of(relation, [part for batch in batches for part in batch])
    assert found == [(number, str(number)) for number in range(10)]
    assert read == 10


def test_files_of_a_folder_come_in_name_order(relation: Relation, tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.csv").write_text(f"ts,name\n1,{name}\n")
    (batch,) = planned(Planner({"s": (relation, tmp_path)}))
    assert [row[1] for row in rows_of(relation, batch)[0]] == ["a", "b", "c"]


def test_a_planner_goes_on_where_another_one_stopped(relation: Relation, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(FILES["plain.csv"])
    first = Planner({"s": (relation, tmp_path)}, rows_per_batch=1)
    positions: dict[str, dict[str, int | None]] = {}
    begun = first.next_batch({})
    add_ranges(positions, begun)
    assert positions == first.positions()
    first.close()
    rest = planned(Planner({"s": (relation, tmp_path)}, rows_per_batch=1, positions=positions))
    assert [row[0] for batch in [begun, *rest] for row in rows_of(relation, batch)[0]] == [1, 2, 3]


def test_the_stream_that_is_behind_comes_first(relation: Relation, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(FILES["plain.csv"])
    places = {name: (relation, tmp_path / f"{name}.csv") for name in "ab"}
    planner = Planner(places, rows_per_batch=2)
    assert {part.stream for part in planner.next_batch({})} == {"a", "b"}
    assert {part.stream for part in planner.next_batch({"a": 100, "b": 1})} == {"b"}
    planner.close()


@pytest.mark.parametrize("so_far", ["", "\n", "ts,na"])
def test_a_file_without_its_whole_header_is_left_alone(
    so_far: str, relation: Relation, tmp_path: Path
) -> None:
    path = tmp_path / "s.csv"
    path.write_text(so_far)
    planner = Planner({"s": (relation, tmp_path)}, follow=True)
    assert planner.next_batch({}) == []
    with path.open("a") as file:
        file.write(FILES["plain.csv"].removeprefix(so_far))
    rows, read, _ = rows_of(relation, planner.next_batch({}))
    assert ([row[0] for row in rows], read) == ([1, 2, 3], 3)
    planner.close()
