"""What an engine cannot be made of is refused with what was wanted."""

from __future__ import annotations

from typing import Any

import pytest

import cqc
from cqc.runtime.engine.arguments import check_arguments, wanted_queries
from cqc.runtime.errors import RunError

PROGRAM = cqc.compile(
    "CREATE STREAM s (ts BIGINT); CREATE QUERY a AS SELECT ts FROM s; CREATE QUERY B AS SELECT ts FROM s;"
)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"program": "SELECT 1"}, r"cqc\.compile makes one of a text"),
        ({"strategy": "bushy"}, "a strategy"),
        ({"collect": 1}, "collect of cqc.Engine takes True or False"),
        ({"clock": 3}, "clock of cqc.Engine takes what can be called"),
    ],
)
def test_arguments_of_another_kind_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        check_arguments(**{"program": PROGRAM, "strategy": None, "clock": float, **given})


def test_queries_are_chosen_by_name_whatever_its_case() -> None:
    assert wanted_queries(PROGRAM, ()) == ["a", "B"]
    assert wanted_queries(PROGRAM, ("b",)) == ["B"]
    with pytest.raises(RunError, match="no query c in the program"):
        wanted_queries(PROGRAM, ("c",))
