"""Cells stay with a keeper; without it the work is done all the same, and nothing stays behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.spark.distributed import keeper
from cqc.runtime.spark.distributed.coordinator import Coordinator
from cqc.runtime.spark.distributed.messages.spec import Spec, digest
from cqc.runtime.spark.distributed.stages.cell import Cells
from cqc.runtime.spark.distributed.stages.wire import Output, pack_tuples
from tests.integration.spark.distributed.cluster import MemoryStore

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ROOT = Path(__file__).parents[4]
PROGRAM = """
CREATE STREAM a (ts BIGINT, k BIGINT);
CREATE STREAM b (ts BIGINT, k BIGINT);
SELECT a.k FROM a, b WHERE a.k = b.k MAXWINDOW 9 SEC;
"""


class Asker:
    """A worker that has one cell to do."""

    program = PROGRAM

    def __init__(self, folder: Path) -> None:
        self.coordinator = Coordinator(cqc.compile(self.program), 1, strategy=Strategy())
        self.packed = self.coordinator.spec({}, collect=True, shuffle_partitions=1).pack()
        self.file = folder / "spec"
        self.file.write_bytes(self.packed)
        self.store = MemoryStore()
        self.batch = 0

    def give(self, stream: str) -> tuple[str, int, bool]:
        """Who did the work, the results, and whether the cell was made again."""
        header, blobs = (
            self.coordinator.header(self.batch),
            self.blobs(stream, [{"ts": self.batch, "k": 1}]),
        )
        self.batch += 1
        by = "keeper"
        found = keeper.process(0, digest(self.packed), self.file, (0, 0), header, blobs, self.store)
        if found is None:
            cells = Cells(Spec.unpack(self.packed, digest(self.packed)))
            by, found = "worker", cells.process((0, 0), header, blobs, self.store).pack()
        output = Output.unpack(found)
        return by, sum(map(len, output.blocks)), output.rebuilt

    def blobs(self, stream: str, rows: list[dict[str, int]]) -> list[tuple[int, bytes]]:
        """Rows as they come to the cell."""
        line = self.coordinator.engine.lines[stream]
        return [(0, pack_tuples({stream: line.accept(Intake(line.relation).take(rows))}))]


def main() -> None:
    keeper.start()
    folder = os.environ[keeper.FOLDER]
    asker = Asker(Path(sys.argv[1]))
    told = [asker.give("a"), asker.give("b")]
    os.environ[keeper.FOLDER] = str(Path(folder) / "nowhere")
    told.append(asker.give("b"))
    os.environ[keeper.FOLDER] = folder
    told += [asker.give("b"), asker.give("a")]
    sys.stdout.write(json.dumps({"told": told, "folder": folder}))


@pytest.mark.parametrize("fails", [ConnectionRefusedError, BlockingIOError])
@pytest.mark.parametrize("times", [1, 4])
def test_a_keeper_that_is_not_reached_at_once_is_tried_again(
    fails: type[OSError], times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = keeper._listen(str(tmp_path), "0")
    tries, pauses = [], []

    def busy(folder: str, name: str) -> Connection:
        tries.append(name)
        if len(tries) <= 2 * times:  # a try asks for the keeper, and then at the door
            raise fails
        return real(folder, name)

    real = keeper._connect
    monkeypatch.setattr(keeper, "_connect", busy)
    monkeypatch.setattr("time.sleep", pauses.append)
    keeper._connected(str(tmp_path), "0").close()
    listening.close()
    assert len(pauses) == times
    assert pauses == sorted(set(pauses))  # they grow


def test_a_keeper_that_is_never_reached_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asker = Asker(tmp_path)
    (tmp_path / keeper._DOOR).touch()  # whoever listened there has gone
    monkeypatch.setenv(keeper.FOLDER, str(tmp_path))
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert asker.give("a") == ("worker", 0, False)


def test_a_keeper_has_the_cell_at_hand_and_a_worker_can_do_without(tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "tests.integration.spark.distributed.test_keeper", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found = json.loads(finished.stdout)
    assert found["told"] == [
        ["keeper", 0, False],
        ["keeper", 1, False],
        ["worker", 1, True],
        ["keeper", 1, True],  # what it had was not the newest
        ["keeper", 3, False],
    ]
    give_up = time.monotonic() + 60
    while Path(found["folder"]).exists():
        assert time.monotonic() < give_up
        time.sleep(0.05)


if __name__ == "__main__":
    main()
