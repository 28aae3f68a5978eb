"""Types of sinks: ours and those that users register."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.meaning.sink_types import SINK_TYPES
from cqc.runtime.options import RunOptions
from cqc.runtime.receivers import kinds
from cqc.runtime.run.finite_run import LocalRun

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cqc.runtime.receivers.receiver import Sent, Setting


def test_every_type_has_a_receiver() -> None:
    assert kinds.HOMES.keys() == SINK_TYPES.keys()


def test_a_sink_of_ones_own_gets_its_options_and_results(tmp_path: Path) -> None:
    took: list[tuple[str, int]] = []

    class Pigeon:
        at_once = 2

        def __init__(self, setting: Setting) -> None:
            self.loft = setting.options["loft"]

        def send(self, results: Sequence[Sent]) -> None:
            took.extend((self.loft, each.value()["row"]["x"]) for each in results)

        def stored(self) -> int | None:
            return None

        def close(self) -> None:
            pass

    cqc.sink("Pigeon", Pigeon)
    (tmp_path / "s.csv").write_text("ts,x\n1,5\n2,6\n")
    (tmp_path / "p.cq").write_text(
        "CREATE SINK roof WITH (type = 'pigeon', loft = 'north'); CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv');"
        "CREATE QUERY q INTO roof AS SELECT x FROM s"
    )
    run = LocalRun(cqc.compile_files(tmp_path / "p.cq"), RunOptions())
    run.to_end()
    run.close()
    assert took == [("north", 5), ("north", 6)]


def test_a_built_in_name_is_taken() -> None:
    with pytest.raises(ValueError, match="built-in"):
        cqc.sink("webhook", print)
    with pytest.raises(TypeError):
        cqc.sink("other", 5)  # type: ignore[arg-type]
