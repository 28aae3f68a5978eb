"""A view that is edited in the program's folder registers its readers again, those of clients too."""

from __future__ import annotations

import pytest

import cqc
from cqc.runtime.serve.registry import PROGRAM
from cqc.runtime.serve.service import Service
from cqc.runtime.serve.statements import statements_of_program

STREAM = "CREATE STREAM s (ts BIGINT, x BIGINT);"


def program_of(view: str) -> cqc.Program:
    return cqc.compile(f"{STREAM} CREATE VIEW big AS {view}; CREATE QUERY q AS SELECT x FROM big")


def results(service: Service) -> dict[str, int]:
    return {entry.name: entry.results for entry in service.registry}


def test_readers_of_an_edited_view_are_registered_again() -> None:
    service = Service(program_of("SELECT ts, x FROM s WHERE x > 10"))
    service.register("SELECT x FROM big WHERE x < 100", "mine")
    service.push({"s": service.engine.typed({"s": [{"ts": 1, "x": 20}]})["s"]})
    assert results(service) == {"q": 1, "mine": 1}
    edited = program_of("SELECT ts, x FROM s WHERE x > 50")
    service.adopt(PROGRAM, statements_of_program(edited), edited.catalog.views)
    service.push({"s": service.engine.typed({"s": [{"ts": 2, "x": 20}, {"ts": 3, "x": 60}]})["s"]})
    assert results(service)["mine"] == 2
    assert results(service)["q"] == 1  # a new one


def test_an_edit_that_breaks_a_reader_changes_nothing() -> None:
    service = Service(program_of("SELECT ts, x FROM s WHERE x > 10"))
    service.register("SELECT x FROM big", "mine")
    edited = cqc.compile(f"{STREAM} CREATE VIEW big AS SELECT ts, x AS y FROM s")
    with pytest.raises(cqc.CompileError, match="no column x"):
        service.adopt(PROGRAM, statements_of_program(edited), edited.catalog.views)
    service.push({"s": service.engine.typed({"s": [{"ts": 1, "x": 20}]})["s"]})
    assert results(service) == {"q": 1, "mine": 1}
