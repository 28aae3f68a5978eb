r"""Text for COPY beside a second formulation in Python: what is read back by COPY's rules is what the line says."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from cqc.runtime.receivers.copy_text import copy_text
from cqc.runtime.receivers.receiver import Columns, Sent
from cqc.runtime.receivers.sent_rows import rows_of

LETTERS = ["a", "\t", "\n", "\r", "\\", '"', "\b", "\f", "\x01", "é", "€", "😀", "{", "]", ",", "/"]


def read_copy(text: bytes) -> list[list[str | None]]:
    """The cells, as PostgreSQL reads them."""
    plain = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\"}
    rows: list[list[str | None]] = []
    for line in text.decode().removesuffix("\n").split("\n"):
        cells: list[str | None] = []
        for cell in line.split("\t"):
            made, at = "", 0
            while at < len(cell):
                piece = cell[at : at + 2] if cell[at] == "\\" else cell[at]
                made += plain.get(piece, piece)
                at += len(piece)
            cells.append(None if cell == "\\N" else made)
        rows.append(cells)
    return rows


def some_text(rng: random.Random) -> str:
    return "".join(rng.choices(LETTERS, k=rng.randrange(8)))


def some_value(rng: random.Random) -> Any:
    return rng.choice(
        [
            None,
            True,
            rng.randrange(-(2**63), 2**63),
            rng.random() * 1e30,
            some_text(rng),
            {some_text(rng): [some_text(rng), None, {"x": 1.5}], "y": {}},
            [],
            [[some_text(rng)], 1],
        ]
    )


@pytest.mark.parametrize("ascii_only", [False, True])
def test_cells_are_those_of_the_lines(ascii_only: bool) -> None:
    rng = random.Random(7)
    columns = Columns(("a", 'b"\t', "c"), ("STRING", "STRING", "STRING"), "BIGINT")
    sent, expected = [], []
    for number in range(1, 200):
        query, row = some_text(rng), {name: some_value(rng) for name in columns.names}
        value: dict[str, Any] = {"query": query, rng.choice(["ts", "at"]): number, "row": row}
        alert = {"state": "firing", "key": {"k": some_text(rng)}} if rng.random() < 0.5 else None
        if alert is not None:
            value["alert"] = alert
        if rng.random() < 0.3:
            value["with"] = {"row": some_text(rng), "ts": "x", "alert": "y"}
        value["id"] = f"id{number}"
        line = json.dumps(value, ensure_ascii=ascii_only)
        sent.append(Sent(number, f"id{number}", query, line, columns))
        cells = [
            None
            if cell is None
            else cell
            if isinstance(cell, str)
            else json.dumps(cell, ensure_ascii=ascii_only)
            for cell in (number, alert, *row.values())
        ]
        expected.append([f"id{number}", query, *cells])
    assert read_copy(bytes(copy_text(rows_of(sent), 3))) == expected
    assert read_copy(bytes(copy_text(rows_of(sent)[50:60], 3))) == expected[50:60]


def test_a_text_without_room_for_nul_loses_it() -> None:
    line = r'{"query": "q", "ts": null, "row": {"x": "a\u0000b\\u0000", "y": ["a\u0000b\\u0000"]}}'
    columns = Columns(("x", "y"), ("STRING", "STRING"), "BIGINT")
    text = bytes(copy_text(rows_of([Sent(1, "i", "q", line, columns)]), 2))
    assert read_copy(text) == [["i", "q", None, None, r"ab\u0000", r'["ab\\u0000"]']]


def test_a_row_without_columns_and_no_row_at_all() -> None:
    none = Columns((), (), "BIGINT")
    sent = [Sent(1, "i", "q", '{"query": "q", "ts": 5, "row": {}, "id": "i"}', none)]
    assert bytes(copy_text(rows_of(sent), 0)) == b"i\tq\t5\t\\N\n"
    assert bytes(copy_text(rows_of([]), 0)) == b""
