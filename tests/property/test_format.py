"""Formatting changes nothing but the looks, and nothing the second time."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.format.formatter import format_program
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax import tree as syntax
from cqc.compiler.syntax.source_names import source_name
from cqc.compiler.syntax.tokens import comments_in, tokenize
from tests.support.generators import random_program

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path
    for folder in ("examples", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.cq")
    if not parse(SourceFile(path.name, path.read_text(encoding="utf-8")))[1]
)
COMMENTS = [
    "-- note\n",
    "\n-- own line\n",
    "/* block */",
    "\n/* own\n   block */\n",
    "/* a */ -- b\n",
]
GAPS = [" ", "\n", "  ", "\n\n", "\t", "\n\n\n"]


def check(text: str) -> str:
    formatted = format_program(SourceFile("test.cq", text))
    again = format_program(SourceFile("test.cq", formatted))
    assert again == formatted
    before, after = parse(SourceFile("test.cq", text)), parse(SourceFile("test.cq", formatted))
    assert after == before
    assert names_by_text(after[0]) == names_by_text(before[0])
    assert remarks(formatted) == remarks(text)
    return formatted


def names_by_text(program: syntax.Program) -> list[str]:
    """The outputs without AS, as a query would show them."""
    queries = (each for each in program.statements if isinstance(each, syntax.CreateQuery))
    outputs = (item for query in queries for item in query.select.outputs)
    items = (item for item in outputs if isinstance(item, syntax.SelectItem) and not item.name)
    return [source_name(each.span.text) for each in items if not syntax.plain_column(each)]


def remarks(text: str) -> list[str]:
    return [text[start:end].rstrip() for start, end in comments_in(text)]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_program_of_the_repository_formats(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    check(text if len(text) < 100_000 else text[: text.index(";", 50_000) + 1])


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_format(seed: int) -> None:
    check(random_program(seed))


@pytest.mark.parametrize("seed", range(60))
def test_comments_and_odd_spacing_survive_anywhere(seed: int) -> None:
    rng = random.Random(seed)
    check(sprinkle(random_program(seed), rng))


def sprinkle(text: str, rng: random.Random) -> str:
    """Every gap between tokens made odd, with comments in some of them."""
    source = SourceFile("test.cq", text)
    words: list[str] = []
    for statement in tokenize(source).statements:
        words += [*statement.texts, ";"]
    result = ""
    for word in words:
        gap = rng.choice(GAPS)
        if rng.random() < 0.1:
            gap += rng.choice(COMMENTS) + rng.choice(GAPS)
        result += gap + (word if rng.random() < 0.8 else change_case(word))
    return result


def change_case(word: str) -> str:
    """Keywords in lower case; texts and names must stay as they are."""
    return (
        word.lower()
        if re.fullmatch("SELECT|FROM|WHERE|AND|OR|NOT|BETWEEN|CASE|WHEN|END", word)
        else word
    )


@pytest.mark.parametrize("seed", range(30))
def test_lines_are_at_most_100_columns_where_tokens_allow(seed: int) -> None:
    program = random_program(seed)
    longest_token = max(
        len(text) for each in tokenize(SourceFile("x", program)).statements for text in each.texts
    )
    for line in check(program).splitlines():
        assert len(line) <= max(100, 40 + longest_token)
