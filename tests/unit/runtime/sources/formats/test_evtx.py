"""Windows event logs: records by paths, in the order of their records, broken ones rejected alone."""

from __future__ import annotations

import gzip
import io
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from cqc.compiler.embed import compile as compile_text
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.sources import open_source
from tests.support.documents import call
from tests.support.evtx_files import (
    CHUNK,
    CHUNK_HEADER,
    FILE_HEADER,
    RECORD_HEADER,
    event,
    write_evtx,
)

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = """
  ts TIMESTAMP FROM 'Event.System.TimeCreated.#attributes.SystemTime',
  id STRING FROM 'Event.System.EventID',
  who STRING FROM 'Event.EventData.TargetUserName',
  data STRING FROM 'Event.EventData.Data',
  qualifiers BIGINT FROM 'Event.System.EventID.#attributes.Qualifiers',
  written STRING FROM 'Event.System.EventID.#text'
"""
LOGON = event(4624, "2024-05-01T09:00:00.5Z", {"TargetUserName": "änn <1>", "IpAddress": "::1"})
SERVICE = event(7036, "2024-05-01T09:00:01Z", ["Spooler", "stopped"], qualifiers="16384")
NUMBERED = [event(number, "2024-05-01T09:00:00Z", {}) for number in range(1, 7)]


def rows(path: Path) -> list[list[Any]]:
    stream = compile_text(f"CREATE STREAM s ({COLUMNS});").catalog.find("s")
    assert stream is not None
    found = []
    for batch in open_source(stream, path):
        found += [list(row) for row in zip(*map(to_python, batch.columns), strict=True)]
        found += [[reject.reason, reject.row] for reject in batch.rejects]
    return found


def test_fields_are_found_by_their_paths(tmp_path: Path) -> None:
    write_evtx(tmp_path / "a.evtx", [LOGON, SERVICE])
    logon, service = rows(tmp_path / "a.evtx")
    assert logon[1:] == ["4624", "änn <1>", None, None, None]
    assert logon[0] == 1_714_554_000_500_000
    assert service[1:] == ["7036", None, '["Spooler", "stopped"]', 16384, "7036"]


def test_chunks_are_read_in_the_order_of_their_records(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    write_evtx(path, NUMBERED, chunks=[2, 3, 1])
    whole = path.read_bytes()
    header, chunks = whole[:FILE_HEADER], whole[FILE_HEADER:]
    first, second, third = (chunks[at : at + CHUNK] for at in range(0, len(chunks), CHUNK))
    path.write_bytes(
        header + third + first + second
    )  # a log that was full, and went on at its beginning
    assert [row[1] for row in rows(path)] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_packed_logs_are_unpacked(ending: str, tmp_path: Path) -> None:
    write_evtx(tmp_path / "a.evtx", NUMBERED)
    data = (tmp_path / "a.evtx").read_bytes()
    packed = gzip.compress(data) if ending == "gz" else pa.compress(data, "zstd", asbytes=True)
    (tmp_path / f"b.evtx.{ending}").write_bytes(packed)
    assert len(rows(tmp_path / f"b.evtx.{ending}")) == len(NUMBERED)


def test_a_broken_record_is_rejected_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    write_evtx(path, NUMBERED, chunks=[1, 2])
    data = bytearray(path.read_bytes())
    data[FILE_HEADER + CHUNK + CHUNK_HEADER + RECORD_HEADER + 4] = 0xEE
    path.write_bytes(data)
    first, third, broken = rows(path)
    assert (first[1], third[1], broken[0]) == ("1", "3", "not an event")
    assert "record number 2" in broken[1]["record"]


@pytest.mark.parametrize("data", [b"", b"ElfFile\0 and no more", b'{"ts": 1}\n'])
def test_what_is_no_event_log_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.evtx").write_bytes(data)
    with pytest.raises(RunError, match=r"cannot read .*a\.evtx as an event log: "):
        rows(tmp_path / "a.evtx")


def test_a_missing_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_evtx(tmp_path / "a.evtx", NUMBERED)
    monkeypatch.setitem(sys.modules, "evtx", None)
    with pytest.raises(RunError, match=r"needs the package evtx: pip install 'cqc\[sigma\]'"):
        rows(tmp_path / "a.evtx")


def test_a_run_binds_a_file_or_a_folder(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write_evtx(tmp_path / "logs" / "a.evtx", NUMBERED)
    program = tmp_path / "p.cq"
    program.write_text(f"CREATE STREAM s ({COLUMNS});\nSELECT id FROM s WHERE id IN ('2', '9');\n")
    for place in ("logs", "logs/a.evtx"):
        out, err = call(
            ["run", str(program), "--engine", "local", "--quiet", "--bind", f"s={tmp_path / place}"]
        )
        assert (out.count("\n"), err) == (1, "")
        assert '"id": "2"' in out


def test_reading_the_reordered_file_anywhere_gives_the_same_bytes(tmp_path: Path) -> None:
    from cqc.runtime.sources.formats.evtx import _in_order

    path = tmp_path / "a.evtx"
    write_evtx(path, NUMBERED, chunks=[2, 3, 1])
    data = path.read_bytes()
    chunks = [data[at : at + CHUNK] for at in range(FILE_HEADER, len(data), CHUNK)]
    mixed = io.BytesIO(data[:FILE_HEADER] + chunks[1] + chunks[2] + chunks[0])
    file = _in_order(mixed, "a")
    assert file.read() == data
    for at in (0, 100, FILE_HEADER - 3, FILE_HEADER + CHUNK - 7):
        file.seek(at)
        assert file.read(5000) == data[at : at + 5000]
