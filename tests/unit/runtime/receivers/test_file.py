"""Files: one, or by the values of columns; a rotated or cut file is dealt with as for `--out`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.file import FileReceiver
from cqc.runtime.receivers.receiver import Columns, Sent, Setting

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = Columns(("room", "x"), ("STRING", "BIGINT"), "TIMESTAMP")


def sent(number: int, room: str | None) -> Sent:
    line = json.dumps(
        {"query": "q", "ts": "2024-01-01T00:00:01Z", "row": {"room": room, "x": number}}
    )
    return Sent(number, f"id{number}", "q", line, COLUMNS)


def receiver(folder: Path, path: str, **options: str) -> FileReceiver:
    setting = Setting("s", {"path": path, **options}, "p", str(folder), str(folder / "ck"), "run")
    return FileReceiver(setting)


def test_files_by_the_values_of_columns(tmp_path: Path) -> None:
    made = receiver(tmp_path, "out", partition_by="room")
    made.send([sent(1, "kitchen"), sent(2, "a/b"), sent(3, None), sent(4, "kitchen")])
    made.close()
    files = {
        str(file.relative_to(tmp_path / "out")): file.read_text().count("\n")
        for file in (tmp_path / "out").rglob("*.jsonl")
    }
    assert files == {
        "room=kitchen/results.jsonl": 2,
        "room=a%2Fb/results.jsonl": 1,
        "room=__NULL__/results.jsonl": 1,
    }


def test_what_was_written_after_the_place_is_cut_off(tmp_path: Path) -> None:
    made = receiver(tmp_path, "out.jsonl")
    made.send([sent(1, "a")])
    made.close()
    with (tmp_path / "out.jsonl").open("a") as file:
        file.write("half a li")
    again = receiver(tmp_path, "out.jsonl")
    assert again.stored() == 1
    again.send([sent(2, "b")])
    again.close()
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["row"]["x"] for line in lines] == [1, 2]


def test_a_file_that_was_shortened_is_told(tmp_path: Path) -> None:
    made = receiver(tmp_path, "out.jsonl")
    made.send([sent(1, "a"), sent(2, "b")])
    made.close()
    (tmp_path / "out.jsonl").write_text("x")
    with pytest.raises(RunError, match="was cut"):
        receiver(tmp_path, "out.jsonl")


def test_parquet_has_types(tmp_path: Path) -> None:
    made = receiver(tmp_path, "out", format="parquet")
    made.send([sent(1, "a"), sent(2, None)])
    made.send([sent(1, "a"), sent(2, None)])  # the same numbers replace themselves
    made.close()
    (file,) = (tmp_path / "out").rglob("*.parquet")
    table = pq.read_table(file)
    assert table.column_names == ["_id", "_query", "_ts", "room", "x"]
    assert table["x"].to_pylist() == [1, 2]
    assert str(table.schema.field("_ts").type) == "timestamp[us, tz=UTC]"


def test_csv_of_two_shapes_is_told(tmp_path: Path) -> None:
    made = receiver(tmp_path, "out.csv")
    made.send([sent(1, "a")])
    other = Sent(
        2,
        "i",
        "w",
        '{"ts": "2024-01-01T00:00:01Z", "row": {"z": 1}}',
        Columns(("z",), ("BIGINT",), "TIMESTAMP"),
    )
    with pytest.raises(RunError, match="a sink of its own"):
        made.send([other])
