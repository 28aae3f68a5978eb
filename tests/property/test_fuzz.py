"""No text, however malformed, makes the parser do anything but return diagnostics."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import UnexpectedInput

from cqc.compiler.diagnostics.diagnostic import render_json, render_text
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.diagnostics.syntax_codes import SYNTAX_CODES
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax.pieces import Piece
from cqc.compiler.syntax.tables import read_kinds
from cqc.compiler.syntax.tokens import CONTEXTUAL, FOREIGN, RESERVED, tokenize
from cqc.grammar import grammar_text
from tests.support.generators import random_program

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/queries/*.cq"))
PIECES = [
    *sorted(RESERVED | CONTEXTUAL | FOREIGN),
    *(
        "a",
        "b.c",
        '"q"',
        "`q`",
        "1",
        "2.5",
        "'t'",
        "SEC",
        "m",
        "BIGINT",
        "*",
        ",",
        "(",
        ")",
        "[",
        "]",
    ),
    *(
        "=",
        "<",
        "==",
        "&&",
        "||",
        "!",
        "-",
        "+",
        "/",
        "%",
        ";",
        ".",
        "--",
        "/*",
        "*/",
        "'",
        '"',
        "\n",
        "$",
        "é",
        "\0",
    ),
]

# Words that often make sense after FROM, so that many of the statements made of them parse.
WORDS = [
    *(
        "WHERE",
        "a",
        "=",
        "1",
        "AND",
        "OR",
        "(",
        ")",
        "MAXWINDOW",
        "5",
        "SEC",
        "m",
        "LIMIT",
        "ORDER",
        "BY",
        "desc",
    ),
    *(
        "NULLS",
        "FIRST",
        ",",
        "JOIN",
        "ON",
        "BEGIN",
        "END",
        "NOW",
        "now",
        "AFTER",
        "[",
        "ROWS",
        "]",
        "TIMESTAMP",
    ),
    *(
        "'t'",
        "INTERVAL",
        "text",
        "first",
        "IS",
        "NOT",
        "NULL",
        "BETWEEN",
        "IN",
        "LIKE",
        "escape",
        "-",
        "*",
        ".",
    ),
]


def check(text: str) -> None:
    """Parse a text: what is said about it is well formed and points into it."""
    source = SourceFile("fuzz.cq", text)
    program, diagnostics = parse(source)
    for diagnostic in diagnostics:
        assert diagnostic.code in SYNTAX_CODES
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        render_json(diagnostic)
    render_text(diagnostics)
    if not diagnostics:
        assert all(statement.span.text for statement in program.statements)


@given(st.text())
@example("\x00")
@example("SELECT a FROM s WHERE a = '\n")
@example('"')
@example("/*")
@example("SELECT ''''")
@example("1e5.5.5 .5.. 'a''b'c")
def test_any_text_gives_diagnostics(text: str) -> None:
    check(text)


@given(st.binary())
def test_any_bytes_give_diagnostics(data: bytes) -> None:
    check(data.decode("utf-8", errors="replace"))


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_tokens_in_any_order_give_diagnostics(pieces: list[str]) -> None:
    check(" ".join(pieces))


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_any_query_with_a_broken_tail_gives_diagnostics(pieces: list[str]) -> None:
    check(f"SELECT a FROM s {' '.join(pieces)}; SELECT b FROM t")


@pytest.fixture(scope="module")
def lark() -> Lark:
    return Lark(grammar_text(), start="statement", parser="lalr", lexer="contextual")


def accepts(lark: Lark, text: str) -> bool:
    try:
        lark.parse(text)
    except UnexpectedInput:
        return False
    return True


@given(st.lists(st.sampled_from(WORDS), max_size=8))
def test_the_grammar_alone_accepts_the_same_statements(lark: Lark, words: list[str]) -> None:
    text = f"SELECT a FROM s {' '.join(words)}"
    (tokens,) = tokenize(SourceFile("fuzz.cq", text)).statements
    assert accepts(lark, text) == isinstance(read_kinds(tokens.kinds), Piece)


@pytest.mark.parametrize("seed", range(20))
def test_the_grammar_alone_accepts_random_programs(lark: Lark, seed: int) -> None:
    source = SourceFile("fuzz.cq", random_program(seed))
    for tokens in tokenize(source).statements:
        assert accepts(lark, source.text[tokens.starts[0] : tokens.end])


@pytest.mark.parametrize("seed", range(40))
def test_a_truncated_program_gives_diagnostics(seed: int) -> None:
    text = random_program(seed)
    cut = random.Random(seed).randrange(len(text))
    check(text[:cut])
    check(text[cut:])


@pytest.mark.parametrize("seed", range(40))
def test_a_mutated_program_gives_diagnostics(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(3):
        check(mutate(random_program(seed), rng))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_mutated_example_gives_diagnostics(path: Path) -> None:
    rng = random.Random(path.stem)
    text = path.read_text(encoding="utf-8")[:6_000]
    for _ in range(10):
        check(mutate(text, rng))


def mutate(text: str, rng: random.Random) -> str:
    """Some characters or words deleted, doubled, exchanged or replaced."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        length = rng.choice([1, 1, 2, 5, 20])
        piece = text[at : at + length]
        change = rng.choice(
            ["", piece + piece, piece[::-1], f" {rng.choice(PIECES)} ", rng.choice(PIECES)]
        )
        text = text[:at] + change + text[at + length :]
    return text


@pytest.mark.parametrize(
    "piece", ["(", "[", "'", '"', "SELECT ", "a,", "CASE ", "/*", "- ", ";", "NOT ("]
)
def test_a_thousand_of_one_thing_give_diagnostics(piece: str) -> None:
    check(piece * 1_000)
    check(f"SELECT a FROM s WHERE {piece * 1_000}")


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_program_without_a_token_gives_diagnostics(seed: int, which: int) -> None:
    words = random_program(seed % 50).split(" ")
    del words[which % len(words)]
    check(" ".join(words))
