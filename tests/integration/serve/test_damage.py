"""A flipped bit, a cut or a missing file of a service's checkpoint is one sentence, or changes nothing that a client sees."""

from __future__ import annotations

import os
import random
import shutil
import stat
import struct
import zlib
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.files.record_file import RecordFile, read_records
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.serve.journal import Durable
from cqc.runtime.serve.limits import Limits
from cqc.runtime.serve.service import Service
from tests.integration.serve.test_durable import face, push

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
CREATE STREAM a (ts BIGINT, k BIGINT, name STRING);
CREATE TABLE w (k BIGINT, nurse STRING);
SET RETENTION = 1000 SECONDS;
CREATE QUERY named AS SELECT a.ts AS t, nurse FROM a, w WHERE a.k = w.k;
CREATE QUERY counted AS SELECT k, COUNT(*) AS n FROM a BEGIN NOW - 30 END NOW GROUP BY k ORDER BY k;
"""


def start(folder: Path, limits: Limits | None = None) -> Service:
    return Service(
        cqc.compile(PROGRAM),
        limits=limits or Limits(),
        durable=Durable(folder, 1_500),
        now=lambda: 1_700_000_000.0,
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of a service that was killed, and what its clients saw."""
    folder = tmp_path_factory.mktemp("service") / "kept"
    service = start(folder)
    tables = [{"k": 1, "nurse": "Ann"}, {"k": 2, "nurse": "Bob"}]
    service.push({"w": Intake(service.engine.lines["w"].relation).take(tables)})
    service.commit()
    for ts in range(6):
        service.register(f"SELECT ts FROM a WHERE k > {ts}", f"q{ts}")
        push(service, "a", [{"ts": ts, "k": ts % 4, "name": "n" * 40}] * 2)
        service.commit()
    seen = face(service)
    shutil.copytree(folder, folder.with_name("copy"))
    service.close()
    return folder.with_name("copy"), seen


def outcome(folder: Path) -> dict[str, Any] | str:
    """What clients see of a service that starts there, or why it does not start."""
    try:
        service = start(folder)
    except RunError as error:
        return str(error)
    found = face(service)
    service.close()
    return found


def try_flips(kept: tuple[Path, dict[str, Any]], folder: Path, count: int) -> dict[str, int]:
    """Flip bits in every file; how often each kind of file was refused."""
    chooser = random.Random(7)
    refused: dict[str, int] = {}
    for file in sorted(each.name for each in kept[0].iterdir() if each.name != "lock"):
        size = (kept[0] / file).stat().st_size
        if not size:
            continue
        places = {0, 5, 9, 13, 17, size - 1, *(chooser.randrange(size) for _ in range(count))}
        for place in sorted(each for each in places if each < size):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(kept[0], folder)
            data = bytearray((folder / file).read_bytes())
            data[place] ^= 1 << chooser.randrange(8)
            (folder / file).write_bytes(data)
            found = outcome(folder)
            if found == kept[1]:
                continue
            assert isinstance(found, str), (file, place)
            assert str(folder / file) in found
            assert "restore it from a copy" in found
            assert (folder / file).read_bytes() == data  # nothing was cut off
            kind = file.partition("-")[0]
            refused[kind] = refused.get(kind, 0) + 1
    return refused


def test_a_flipped_bit_in_a_services_files_is_refused_or_changes_nothing(
    kept: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    refused = try_flips(kept, tmp_path / "service", 1)
    assert refused["rows"] > 5
    assert refused["results"] > 3
    assert refused["tables.log"] > 3
    assert "synced" not in refused


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_flipped_bit_anywhere_in_a_services_files_is_refused_or_changes_nothing(
    kept: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    assert try_flips(kept, tmp_path / "service", 60)


@pytest.mark.parametrize("kind", ["rows-*.log", "results-*.log", "tables.log"])
def test_a_file_that_was_cut_or_deleted_is_refused(
    kind: str, kept: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    for file in kept[0].glob(kind):
        size = file.stat().st_size
        for left in (None, 0, size // 2, size - 1):
            folder = tmp_path / f"{file.name}-{left}"
            shutil.copytree(kept[0], folder)
            if left is None:
                (folder / file.name).unlink()
            else:
                os.truncate(folder / file.name, left)
            found = outcome(folder)
            if found != kept[1]:  # an empty segment at the end may be cut or deleted
                assert isinstance(found, str)
                assert file.name in found
            else:
                assert size == 0


def test_rows_that_have_all_gone_do_not_begin_a_new_life(
    kept: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    shutil.copytree(kept[0], tmp_path / "service")
    for file in (tmp_path / "service").glob("rows-*.log"):
        file.unlink()
    found = outcome(tmp_path / "service")
    assert isinstance(found, str)
    assert "but the rows-*.log that belong to it are not" in found


def test_the_oldest_results_that_have_gone_as_a_whole_are_missed(tmp_path: Path) -> None:
    service = start(tmp_path / "service")
    for ts in range(20):
        service.register("SELECT ts, name FROM a", f"q{ts}")
        push(service, "a", [{"ts": ts, "k": 1, "name": "n" * 600}])
        service.commit()
    shutil.copytree(tmp_path / "service", tmp_path / "killed")
    service.close()
    oldest, *others = sorted((tmp_path / "killed").glob("results-*.log"))
    assert len(others) > 2
    oldest.unlink()
    found = outcome(tmp_path / "killed")
    assert isinstance(found, str)
    assert f"{oldest} is missing" in found


def test_results_that_a_service_has_deleted_itself_are_not_missed(tmp_path: Path) -> None:
    limits = Limits(kept_result_bytes=20_000)
    service = start(tmp_path / "service", limits)
    service.register("SELECT ts, name FROM a", "all")
    for ts in range(60):
        push(service, "a", [{"ts": ts, "k": 1, "name": "n" * 600}])
        service.commit()
    assert not (tmp_path / "service" / "results-00000001.log").exists()
    shutil.copytree(tmp_path / "service", tmp_path / "killed")
    seen = face(service)
    service.close()
    again = start(tmp_path / "killed", limits)
    assert face(again) == seen
    again.close()


@pytest.mark.parametrize("torn", [b"\0" * 3000, b"cqc3", None])
def test_a_torn_tail_is_cut_off_and_the_service_is_as_it_was(
    torn: bytes | None, kept: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    shutil.copytree(kept[0], tmp_path / "service")
    for kind in ("rows-*.log", "results-*.log"):
        newest = max((tmp_path / "service").glob(kind))
        record = _record_at(newest.stat().st_size, tmp_path)
        with newest.open("ab") as file:
            file.write(record[:-5] if torn is None else torn)
    assert outcome(tmp_path / "service") == kept[1]


def _record_at(place: int, folder: Path) -> bytes:
    """A record as it would be written at a place."""
    scratch = RecordFile(folder / "scratch")
    scratch.size = place
    scratch.append({"kind": "batch"}, b"rows")
    scratch.close()
    return (folder / "scratch").read_bytes()


def test_a_record_at_another_place_than_its_own_is_damage(tmp_path: Path) -> None:
    file = RecordFile(tmp_path / "log")
    for number in range(3):
        file.append({"number": number})
    file.close()
    first, second, third = (record.stop for record in read_records(tmp_path / "log"))
    data = (tmp_path / "log").read_bytes()
    (tmp_path / "log").write_bytes(data[:first] + data[second:third] + data[first:second])
    with pytest.raises(RunError, match="is damaged at byte"):
        list(read_records(tmp_path / "log"))


def test_files_of_an_earlier_version_are_refused_in_one_sentence(
    kept: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    shutil.copytree(kept[0], tmp_path / "service")
    head = b'{"kind": "marks", "form": 2}'
    before = struct.pack("<III", len(head), 0, zlib.crc32(head)) + head
    for file in (tmp_path / "service").glob("rows-*.log"):
        file.write_bytes(before)
    found = outcome(tmp_path / "service")
    assert isinstance(found, str)
    assert "was written by an earlier version of cqc, without checksums: let that" in found


def test_rows_of_a_table_whose_batch_does_not_count_are_not_there(tmp_path: Path) -> None:
    service = start(tmp_path / "service")
    service.commit()
    rows = [{"k": 1, "nurse": "Ann"}]
    service.push({"w": Intake(service.engine.lines["w"].relation).take(rows)})
    shutil.copytree(tmp_path / "service", tmp_path / "killed")
    again = start(tmp_path / "killed")
    push(again, "a", [{"ts": 1, "k": 1, "name": "x"}])
    again.commit()
    assert again.results.next_number == 1
    again.close()
    service.close()


def test_a_services_files_are_private_whatever_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        service = start(tmp_path / "service")
        push(service, "a", [{"ts": 1, "k": 1, "name": "x"}])
        service.close()
    finally:
        os.umask(before)
    for each in [tmp_path / "service", *(tmp_path / "service").rglob("*")]:
        mode = stat.S_IMODE(each.stat().st_mode)
        assert mode == (0o700 if each.is_dir() else 0o600), each
