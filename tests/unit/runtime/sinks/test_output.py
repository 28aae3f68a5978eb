"""Bytes to a file or to standard output: a full disk and a closed pipe are told apart."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.deliver.results import ResultBlock, in_time_order
from cqc.runtime.errors import OutputClosed, RunError
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.output import Output
from cqc.runtime.sinks.protocol import shape_of_block
from tests.support.relations import PUSHED
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path


def write(kind: str, out: Path | str, *blocks: ResultBlock, known: bool = True) -> None:
    shapes = {each.query: shape_of_block(each) for each in blocks} if known else None
    sink = open_sink(kind, str(out), shapes)
    sink.write(in_time_order(blocks))
    sink.close()


def test_a_full_disk_is_one_sentence() -> None:
    sink = open_sink("jsonl", "/dev/full")
    with pytest.raises(RunError, match="cannot write /dev/full: No space left on device"):
        sink.write([PUSHED])


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    for kind in ("jsonl", "csv", "parquet", "table"):
        with pytest.raises(RunError, match=r"cannot write .*no.*x\.dat"):
            open_sink(kind, str(tmp_path / "no" / "x.dat"))


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    pipe = tmp_path / "pipe"
    pipe.symlink_to(f"/dev/fd/{writer}")
    output = Output(pipe)
    os.close(reader)
    with pytest.raises(OutputClosed):
        output.write(b"x")
    os.close(writer)


def test_standard_output_closed_by_its_reader_ends_quietly() -> None:
    program = (
        "from cqc.runtime.errors import OutputClosed\n"
        "from cqc.runtime.sinks.output import Output\n"
        "output = Output(None)\n"
        "try:\n"
        "    while True:\n"
        "        output.write(b'line\\n' * 10000)\n"
        "except OutputClosed:\n"
        "    pass\n"
    )
    shell = f'"{sys.executable}" -c "$PROGRAM" | head -1'
    finished = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell],
        env={**os.environ, "PROGRAM": program},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "line\n", "")
