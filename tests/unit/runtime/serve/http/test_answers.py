"""Answers as clients want them: the same rows in every form."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pytest

import cqc
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.serve.http.answers import CSV, JSON, choose_form, write_answer
from cqc.runtime.serve.http.arrow_bodies import ARROW_STREAM
from cqc.runtime.serve.service import Service

ROWS = [{"x": 1, 'a "name"': "ü,"}, {"x": None, 'a "name"': None}]


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", JSON), ("*/*", JSON), ("text/csv", CSV), ("TEXT/CSV; q=0.5", CSV), ("text/html, text/csv", CSV),
        (f"{ARROW_STREAM}, text/csv", ARROW_STREAM), ("*/*, text/csv", JSON), ("image/png", JSON),
    ],
)  # fmt: skip
def test_the_first_form_that_exists_is_taken(accept: str, form: str) -> None:
    assert choose_form(accept) == form


def test_every_form_holds_the_same_rows() -> None:
    service = Service(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT, n STRING);"))
    service.register('SELECT x, n AS `a "name"` FROM s BEGIN 0 END NOW', "q")
    rows = [{"ts": 1, "x": 1, "n": "ü,"}, {"ts": 2}]
    service.take("s", Intake(service.engine.lines["s"].relation).take(rows))
    entry, asked = service.invoke("q")
    told = json.loads(write_answer(entry, asked, JSON))
    assert (told["query"], told["at"], told["rows"]) == ("q", 2, ROWS)
    assert [each["name"] for each in told["columns"]] == list(ROWS[0])
    read = list(csv.reader(io.StringIO(write_answer(entry, asked, CSV).decode())))
    assert read == [["x", 'a "name"'], ["1", "ü,"], ["", ""]]
    table = pa.ipc.open_stream(write_answer(entry, asked, ARROW_STREAM)).read_all()
    assert table.to_pylist() == ROWS
    service.close()
