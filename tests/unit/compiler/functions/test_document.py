"""docs/functions.md is what the registry says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.functions import document
from cqc.compiler.functions.argument_rules import NUMBER, POSITION, TEXT
from cqc.compiler.functions.entry import many, one, optional
from cqc.compiler.functions.registry import SCALAR_FAMILIES, SCALAR_FUNCTIONS
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    import pytest

PAGE = Path(__file__).parents[4] / "docs" / "functions.md"


def test_the_page_is_what_the_registry_gives() -> None:
    assert PAGE.read_text(encoding="utf-8") == document.page(), "run `make functions`"


def test_every_function_has_a_row() -> None:
    rows = [line for line in document.page().splitlines() if line.startswith("| `")]
    for entry in SCALAR_FUNCTIONS.values():
        shown = document.call_text(entry).replace("|", "\\|")
        assert sum(row.startswith(f"| `{shown}`") for row in rows) == 1


def test_a_call_shows_what_may_be_left_out_or_repeated() -> None:
    arguments = (one("text", TEXT), optional("at", POSITION), many("x", NUMBER))
    assert document.signature(arguments) == "text: STRING [, at: BIGINT], x: number, ..."


def test_a_row_shows_aliases_null_and_instants(monkeypatch: pytest.MonkeyPatch) -> None:
    coalesce = SCALAR_FUNCTIONS["coalesce"]
    odd = replace(
        coalesce, aliases=("first_of",), result=ColumnType.TIMESTAMP, example=("f('a|b')", 0)
    )
    monkeypatch.setitem(SCALAR_FAMILIES, "Choice", (odd,))
    (row,) = [line for line in document.page().splitlines() if line.startswith("| `coalesce(")]
    assert "` * | TIMESTAMP |" in row
    assert "Also `first_of`." in row
    assert "`f('a\\|b')` is `TIMESTAMP '1970-01-01T00:00:00Z'`" in row
