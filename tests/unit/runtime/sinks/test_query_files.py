"""A folder of results with a file for each query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.deliver.results import ResultBlock, in_time_order
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.protocol import shape_of_block
from cqc.runtime.sinks.query_files import file_of_query
from tests.support.relations import PUSHED, block

if TYPE_CHECKING:
    from pathlib import Path


def write(kind: str, out: Path | str, *blocks: ResultBlock, known: bool = True) -> None:
    shapes = {each.query: shape_of_block(each) for each in blocks} if known else None
    sink = open_sink(kind, str(out), shapes)
    sink.write(in_time_order(blocks))
    sink.close()


@pytest.mark.parametrize(("kind", "ending"), [("jsonl", "jsonl"), ("table", "txt")])
def test_what_an_earlier_run_left_in_a_folder_does_not_stand_for_results(
    kind: str, ending: str, tmp_path: Path
) -> None:
    (tmp_path / f"silent.{ending}").write_text("old")
    (tmp_path / f"q1.{ending}").write_text("old")
    write(kind, tmp_path, PUSHED, block("silent", {"x": (T.BIGINT, [])}, []))
    assert (tmp_path / f"silent.{ending}").read_text() == (
        "" if kind == "jsonl" else "(no results)\n"
    )
    assert "old" not in (tmp_path / f"q1.{ending}").read_text()


def test_the_names_of_files_keep_queries_apart_and_inside_the_folder(tmp_path: Path) -> None:
    queries = [
        "a/b",
        "a%2Fb",
        "..",
        ".",
        "a b",
        "a:b",
        "é",
        "e\u0301",
        "x" * 400,
        "x" * 401,
        "日" * 99,
    ]
    files = {file_of_query(tmp_path, query, "jsonl") for query in queries}
    assert len(files) == len(queries)
    for file in files:
        file.touch()
        assert file.parent == tmp_path
