"""Hints: read where they stand, carried through the graph, kept by the formatter, and comments everywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.compiler import compile as compile_program
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.format.formatter import format_program
from cqc.compiler.graph.graph import Graph

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import JoinShape

STREAMS = "".join(f"CREATE STREAM {name} (ts BIGINT, k BIGINT);\n" for name in "abc")
TAIL = 'x.k FROM c AS x, a, b AS "the b" WHERE x.k = a.k AND a.k = "the b".k MAXWINDOW 5 SEC;'


@pytest.mark.parametrize(
    ("hint", "shape"),
    [
        ('/*+ JOIN((x a) "the b") */', ((0, 1), 2)),
        ("/*+join( A, (`the b` X) )*/", (1, (2, 0))),
        ('/*+ JOIN(x a "THE B") */', (0, 1, 2)),
        ('/*+ JOIN(((x) a) (("the b"))) */', ((0, 1), 2)),
        ("/*+ JOIN(Left-Deep) */", "left-deep"),
        ("-- for speed\n/* really */ /*+ JOIN(bushy) */", "bushy"),
        ("/* + JOIN(bushy) */", None),
        ("", None),
    ],
)
def test_a_hint_names_a_kind_of_shape_or_from_items(
    hint: str, shape: JoinShape | str | None
) -> None:
    program = compile_program(f"{STREAMS}SELECT {hint} {TAIL}")
    (query,) = program.queries
    assert query.join_hint == shape
    assert program.warnings == ()
    assert Graph.from_json(program.graph.to_json()).normal("q1").join_hint == shape
    (plain,) = compile_program(f"{STREAMS}SELECT {TAIL}").graph.bodies.values()
    (hinted,) = program.graph.bodies.values()
    assert hinted.filters == plain.filters
    assert hinted.bounds == plain.bounds


@pytest.mark.parametrize(
    "hint",
    ["JOIN()", "JOIN", "JOIN(x a)", "JOIN((x a) b)", "JOIN(x a) (b)", "JOIN((x a) \"the b)", "", "JOIN(" * 99 + ")" * 99],
)  # fmt: skip
def test_a_hint_that_does_not_fit_is_a_warning_and_the_query_runs(hint: str) -> None:
    program = compile_program(f"{STREAMS}SELECT /*+ {hint} */ {TAIL}")
    assert [each.code for each in program.warnings] == ["CQ091"]
    assert [query.join_hint for query in program.queries] == [None]


def test_a_comment_in_any_other_place_is_a_comment() -> None:
    text = f"{STREAMS}/*+ JOIN(z) */ SELECT x.k /*+ JOIN(z) */ FROM c AS x;"
    program = compile_program(text)
    assert program.warnings == ()


def test_the_formatter_keeps_a_hint_after_its_select() -> None:
    text = f'{STREAMS}SELECT /*+ JOIN((x a) "the b") */ {TAIL}'
    formatted = format_program(SourceFile("hint.cq", text))
    assert 'SELECT /*+ JOIN((x a) "the b") */ x.k' in formatted
    assert format_program(SourceFile("hint.cq", formatted)) == formatted
