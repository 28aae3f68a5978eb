"""Every kind of file is read on every way: at once, followed range by range, and after a restart.

Whoever adds a kind of file adds a writer here; the rest of this file then says which place was forgotten.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from cqc.compiler.embed import compile as compile_text
from cqc.compiler.meaning.source_formats import FILES, FORMATS
from cqc.runtime.sources import READERS
from cqc.runtime.sources.file_feed import FileFeed
from cqc.runtime.sources.read_range import read_range
from tests.support.documents import call
from tests.support.evtx_files import event, write_evtx

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = pa.table({"ts": [1, 2, 3], "x": [10, 20, 30]})
MORE = pa.table({"ts": [4], "x": [40]})


def write_json_lines(rows: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))


def write_events(rows: pa.Table, path: Path) -> None:
    texts = [{key: str(value) for key, value in row.items()} for row in rows.to_pylist()]
    write_evtx(path, [event(1, "2024-05-01T09:00:00Z", row) for row in texts])


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "csv": pa_csv.write_csv,
    "jsonl": write_json_lines,
    "parquet": pq.write_table,
    "evtx": write_events,
}
COLUMNS = dict.fromkeys(FILES, "ts BIGINT, x BIGINT")
COLUMNS["evtx"] = "ts BIGINT FROM 'Event.EventData.ts', x BIGINT FROM 'Event.EventData.x'"
PROGRAM = "CREATE STREAM s ({columns}) WITH (format = '{kind}', path = 'in/');\nSELECT x FROM s;\n"


def test_every_kind_has_a_reader_a_format_and_a_writer() -> None:
    assert set(READERS) == set(FILES) == set(WRITERS)
    assert {format_.reader for format_ in FORMATS.values() if format_.reader} == set(FILES)


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("follow", [False, True])
def test_the_ranges_of_a_file_hold_all_of_its_rows(kind: str, follow: bool, tmp_path: Path) -> None:
    for ending in FILES[kind].endings:
        WRITERS[kind](ROWS, tmp_path / f"a{ending}")
    stream = compile_text(f"CREATE STREAM s ({COLUMNS[kind]});").catalog.find("s")
    assert stream is not None
    feed = FileFeed("s", stream, tmp_path, follow=follow, done={})
    found: list[int] = []
    while (taken := feed.take(2)) is not None:
        for batch in read_range(stream, taken[0]):
            found += batch.columns[1].values.tolist()
    assert found == [10, 20, 30] * len(FILES[kind].endings)


@pytest.mark.parametrize("kind", FILES)
def test_a_run_with_a_checkpoint_goes_on_with_the_next_file(kind: str, tmp_path: Path) -> None:
    program, folder = tmp_path / "p.cq", tmp_path / "in"
    program.write_text(PROGRAM.format(kind=kind, columns=COLUMNS[kind]))
    folder.mkdir()
    command = ["run", str(program), "--engine", "local", "--quiet"]
    command += ["--checkpoint", str(tmp_path / "state")]
    WRITERS[kind](ROWS, folder / f"a{FILES[kind].endings[0]}")
    first = call(command)
    WRITERS[kind](MORE, folder / f"b{FILES[kind].endings[0]}")
    second = call(command)
    assert [results(printed) for printed in (first, second)] == [[10, 20, 30], [40]]
    assert call(command) == ("", "")


def results(printed: tuple[str, str]) -> list[int]:
    out, err = printed
    assert err == ""
    return [json.loads(line)["row"]["x"] for line in out.splitlines()]


@pytest.mark.parametrize("kind", FILES)
def test_data_in_the_place_of_a_program_is_told_apart(kind: str, tmp_path: Path) -> None:
    for ending in FILES[kind].endings:
        data = tmp_path / f"a{ending}"
        WRITERS[kind](ROWS, data)
        assert "is data, not a program" in call(["check", str(data)])[1]
