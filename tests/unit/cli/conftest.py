"""The command line in this process: quick, with exit code, output and messages to look at."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cqc.cli.main import run_command

PROGRAM = """\
CREATE STREAM s (ts TIMESTAMP, x BIGINT, y DOUBLE, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
  WITH (path = 's.csv');
CREATE STREAM n (ts BIGINT, x BIGINT) WITH (path = 'n.csv');
CREATE QUERY big AS
SELECT x, y
FROM   s
WHERE  x > 1;
CREATE QUERY total AS
SELECT COUNT(*) AS c, SUM(x) AS sum
FROM   s
BEGIN  NOW - 10 SEC END NOW;
CREATE QUERY numbers AS
SELECT SUM(x) AS sum
FROM   n
BEGIN  0 END NOW;
"""
S_ROWS = """\
ts,x,y
2024-01-01T00:00:01Z,1,1.5
2024-01-01 00:00:02,2,NaN
2024-01-01T00:00:03.5Z,3,
"""
BAD_ROWS = "2024-01-01T00:00:04Z,oops,1\n2024-01-01T00:00:04Z,1\n,1,1\n"


@dataclass(frozen=True, slots=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Call = Callable[..., Finished]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run `cqc ARGUMENTS` in this process; `stdin` is bytes or text."""

    def run(*arguments: str | Path, stdin: str | bytes = b"") -> Finished:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        code = run_command([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Finished(code, shown.out, shown.err)

    return run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the program p.cq and its data, and the current one."""
    (tmp_path / "p.cq").write_text(PROGRAM)
    (tmp_path / "s.csv").write_text(S_ROWS)
    (tmp_path / "n.csv").write_text("x,ts\n1,1\n2,2\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path
