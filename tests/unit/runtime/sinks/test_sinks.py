"""What sinks write: lines in time order, rows that read back as they were, and how writing can end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.runtime.deliver.results import ResultBlock, in_time_order
from cqc.runtime.errors import RunError
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.protocol import shape_of_block
from tests.support.relations import PULLED, PUSHED

if TYPE_CHECKING:
    from pathlib import Path


def write(kind: str, out: Path | str, *blocks: ResultBlock, known: bool = True) -> None:
    shapes = {each.query: shape_of_block(each) for each in blocks} if known else None
    sink = open_sink(kind, str(out), shapes)
    sink.write(in_time_order(blocks))
    sink.close()


def test_jsonl_to_a_file_and_to_a_folder(tmp_path: Path) -> None:
    write("jsonl", tmp_path / "out.jsonl", PUSHED, PULLED)
    write("jsonl", f"{tmp_path}/new/", PUSHED, PULLED)
    own = [(tmp_path / "new" / f"{query}.jsonl").read_text().splitlines() for query in ("q1", "q2")]
    assert list(map(len, own)) == [2, 1]
    assert sorted((tmp_path / "out.jsonl").read_text().splitlines()) == sorted([*own[0], *own[1]])


def test_an_unknown_sink_is_an_error() -> None:
    with pytest.raises(RunError, match="there is no sink xml"):
        open_sink("xml", None)
