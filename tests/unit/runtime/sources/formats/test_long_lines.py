"""Lines that are too long are rejected alone, wherever they are and however the file is read."""

from __future__ import annotations

import gzip
import io
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.run.finite_run import LocalRun
from cqc.runtime.sources.formats import long_lines
from cqc.runtime.sources.formats.long_lines import LongLine, lent_pieces, line_pieces
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

LONGEST = 64
REASON = "line is longer than 6.10352e-05 MB"
PROGRAM = "CREATE STREAM s (ts BIGINT, x STRING); SELECT x FROM s"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is too long after a few bytes, so that the files are small."""
    for file in (
        "sources.formats.long_lines",
        "sources.formats.csv",
        "sources.socket",
        "sources.read_range",
    ):
        monkeypatch.setattr(f"cqc.runtime.{file}.LONGEST_LINE", LONGEST)


LINES = st.lists(
    st.binary(max_size=20).map(lambda line: b"x" + line.replace(b"\n", b"").replace(b"\r", b"")),
    max_size=6,
)


@settings(max_examples=200)
@given(LINES, st.booleans(), st.integers(1, 9))
def test_lent_pieces_tell_what_pieces_tell(lines: list[bytes], closed: bool, size: int) -> None:
    data = b"\n".join(lines) + (b"\n" if closed else b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_lines, "LONGEST_LINE", 12)
        expected: list[bytes | LongLine] = [b""]
        for piece in line_pieces(io.BytesIO(data), size):
            _append(expected, piece)
        found: list[bytes | LongLine] = [b""]
        for lent in lent_pieces(io.BytesIO(data), size):
            _append(found, lent if isinstance(lent, LongLine) else bytes(lent.text))
            if not isinstance(lent, LongLine):
                lent.give_back()
    assert found == expected


def _append(pieces: list[bytes | LongLine], piece: bytes | LongLine) -> None:
    """Add a piece; where one ends and the next begins is nobody's concern, nor how much of a long line is shown."""
    last = pieces[-1]
    if isinstance(piece, LongLine):
        pieces.append(LongLine(piece.beginning[:1], piece.size, piece.has_end))
    elif isinstance(last, bytes):
        pieces[-1] = last + piece
    else:
        pieces.append(piece)


@settings(max_examples=200)
@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.booleans(), st.integers(1, 9))
def test_pieces_are_the_lines_without_those_that_are_too_long(
    lines: list[bytes], end: bytes, closed: bool, size: int
) -> None:
    data = end.join(lines) + (end if closed else b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_lines, "LONGEST_LINE", 12)
        pieces = list(line_pieces(io.BytesIO(data), size, csv=end != b"\n"))
    sizes = [piece.size if isinstance(piece, LongLine) else len(piece) for piece in pieces]
    assert sum(sizes) == len(data)
    at = 0
    for piece, length in zip(pieces, sizes, strict=True):
        if isinstance(piece, LongLine):
            line = data[at : at + length]
            assert end not in line.removesuffix(end)
            assert length > 12
            # A carriage return at the end of a file may be half of a line end.
            assert piece.has_end == line.endswith(end) or line.endswith(b"\r")
            assert line.startswith(piece.beginning)
        else:
            assert piece == data[at : at + length]
            assert at + length == len(data) or piece.endswith(end)
            whole = piece.split(end)
            assert all(len(line) <= 12 for line in whole)
        at += length


def files_of(ending: str, long: str) -> bytes:
    if ending.startswith("csv"):
        return f"ts,x\n1,a\n2,{long}\n3,c\n".encode()
    return f'{{"ts":1,"x":"a"}}\n{{"ts":2,"x":"{long}"}}\n{{"ts":3,"x":"c"}}\n'.encode()


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("ending", ["csv", "jsonl", "csv.gz", "jsonl.gz"])
@pytest.mark.parametrize("kind", [LocalRun, BatchRun, DurableRun])
@pytest.mark.parametrize("length", [100, 1000])
def test_a_line_that_is_too_long_is_rejected_alone(
    ending: str, kind: type[LocalRun], length: int, tmp_path: Path
) -> None:
    data = files_of(ending, "y" * length)
    file = tmp_path / f"s.{ending}"
    file.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    options = RunOptions(
        binds={"s": str(file)},
        out=str(tmp_path / "out.jsonl"),
        rejects=str(tmp_path / "rejects.jsonl"),
        checkpoint=str(tmp_path / "state") if kind is DurableRun else None,
    )
    run = kind(cqc.compile(PROGRAM), options)
    run.to_end()
    counts = run.close().streams["s"]
    assert (counts.read, counts.rejected) == (3, 1)
    assert list(counts.reasons) == [REASON]
    assert [line[-4] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == ["a", "c"]
    assert len((tmp_path / "rejects.jsonl").read_text()) < 400


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("kind", [LocalRun, BatchRun])
def test_a_header_that_does_not_end_is_one_sentence(kind: type[LocalRun], tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts," + "x" * 100)
    options = RunOptions(binds={"s": str(tmp_path / "s.csv")}, sink="none")
    with pytest.raises(RunError, match=r"s\.csv as CSV: its first line has no end within 64 bytes"):
        kind(cqc.compile(PROGRAM), options).to_end()


@pytest.mark.usefixtures("short")
def test_a_long_line_inside_quotes_does_not_make_another_text_of_them(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text('ts,x\n1,"a\n' + "y" * 100 + '\nb"\n3,c\n')
    options = RunOptions(binds={"s": str(tmp_path / "s.csv")}, out=str(tmp_path / "out"))
    run = LocalRun(cqc.compile(PROGRAM), options)
    run.to_end()
    counts = run.close().streams["s"]
    assert set(counts.reasons) == {REASON, "a quote is not closed", "too few fields"}
    assert (tmp_path / "out").read_text().count("\n") == 1


@pytest.mark.usefixtures("short")
def test_a_long_line_from_a_socket_is_rejected_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_S)

        def send() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(files_of("jsonl", "y" * 100_000))

        sender = threading.Thread(target=send)
        sender.start()
        port = server.getsockname()[1]
        told = f"CREATE STREAM s (ts BIGINT, x STRING) WITH (format = 'socket', port = {port});"
        run = BatchRun(cqc.compile(told + "SELECT x FROM s"), RunOptions(sink="none"))
        run.to_end()
        counts = run.close().streams["s"]
        sender.join(PATIENCE_S)
    assert (counts.read, list(counts.reasons)) == (3, [REASON])


MEASURED = """
import re, sys
from pathlib import Path
from cqc.cli.main import run_command
code = run_command(sys.argv[1:])
# Of this program alone: what getrusage tells has the process in it from which this one came.
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
sys.exit(code)
"""


@pytest.mark.parametrize(
    "size", [1 << 29, pytest.param(1 << 31, marks=pytest.mark.slow)], ids=["half", "two"]
)
def test_a_line_of_gigabytes_takes_little_memory(size: int, tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    with file.open("wb") as opened:
        opened.write(b"ts,x\n1,a\n")
        opened.truncate(size)  # a hole: it takes no room on the disk, and has no line end
        opened.seek(0, 2)
        opened.write(b"\n2,b\n")
    (tmp_path / "p.cq").write_text(PROGRAM)
    command = [sys.executable, "-c", MEASURED, "run", str(tmp_path / "p.cq"), "--engine", "local"]
    finished = subprocess.run(
        [*command, "--bind", f"s={file}", "--sink", "none"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert (
        "3 read, 0 late, 1 rejected\n  1 rejected: line is longer than 16 MB\n" in finished.stderr
    )
    assert int(finished.stdout) < 600_000  # kilobytes, of which most are the engine itself
