"""Aligned tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.deliver.results import ResultBlock, in_time_order
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.protocol import shape_of_block
from cqc.runtime.sinks.table import display_width
from tests.support.relations import PULLED, PUSHED, block

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def write(kind: str, out: Path | str, *blocks: ResultBlock, known: bool = True) -> None:
    shapes = {each.query: shape_of_block(each) for each in blocks} if known else None
    sink = open_sink(kind, str(out), shapes)
    sink.write(in_time_order(blocks))
    sink.close()


def test_tables_are_aligned_and_pull_results_show_the_instant(tmp_path: Path) -> None:
    wide = block(
        "q1", {"x": (T.BIGINT, [10, 7]), "s": (T.STRING, ["日本", "a\nb"])}, [1_000_000] * 2
    )
    write("table", tmp_path / "out.txt", wide, PULLED)
    assert (tmp_path / "out.txt").read_text() == (
        "q1 (2 results)\n"
        "ts                     x  s\n"
        "--------------------  --  ----\n"
        "1970-01-01T00:00:01Z  10  日本\n"
        "1970-01-01T00:00:01Z   7  a\\nb\n"
        "\n"
        "q2 (1 result)\n"
        " at    n\n"
        "---  ---\n"
        "1.5  0.5\n"
    )


def test_a_table_cuts_what_is_too_wide(tmp_path: Path) -> None:
    write("table", tmp_path / "out.txt", block("q", {"s": (T.STRING, ["x" * 100])}, [0]))
    last = (tmp_path / "out.txt").read_text().splitlines()[-1]
    assert last.endswith("x…")
    assert display_width(last) == 20 + 2 + 60


def test_a_folder_has_the_tables_of_each_query_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cqc.runtime.sinks.HOLD_ROWS", 0)
    sink = open_sink("table", f"{tmp_path}/new/", {"q1": shape_of_block(PUSHED)})
    sink.write([PULLED, PUSHED])
    sink.write([PULLED])
    sink.close()
    one = "q2 (1 result)\n at    n\n---  ---\n1.5  0.5\n"
    assert (tmp_path / "new" / "q2.txt").read_text() == f"{one}\n{one}"
    assert (tmp_path / "new" / "q1.txt").read_text().startswith("q1 (2 results)\n")


def test_live_tables_do_not_wait_for_the_end(tmp_path: Path) -> None:
    sink = open_sink("table", str(tmp_path / "out.txt"), live=True)
    sink.write([PUSHED])
    assert "q1 (2 results)" in (tmp_path / "out.txt").read_text()
    sink.close()


def test_a_table_without_results_says_so(tmp_path: Path) -> None:
    write("table", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "(no results)\n"
