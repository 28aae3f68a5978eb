"""Text to bound queries in one step, for the tests of binding."""

from collections.abc import Mapping

from cqc.compiler.bind.statements.bind_program import Bound, bind_program
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.functions.registered import UserFunction
from cqc.compiler.meaning import bound
from cqc.compiler.parse.parser import parse

DECLARATIONS = """
CREATE STREAM B (ts TIMESTAMP, pressure DOUBLE, bed BIGINT, name STRING, ok BOOLEAN);
CREATE STREAM T (ts TIMESTAMP, fluct DOUBLE, bed BIGINT);
CREATE STREAM N (ts BIGINT, v DOUBLE);
CREATE STREAM D (ts DOUBLE, v BIGINT, seen TIMESTAMP);
CREATE TABLE ward (bed BIGINT, nurse STRING);
"""
PULL = "BEGIN NOW - 1 MINUTE END NOW"


def bind_text(*texts: str, functions: Mapping[str, UserFunction] | None = None) -> Bound:
    programs = []
    for at, text in enumerate(texts):
        source = SourceFile(f"{at}.cq", text)
        program, mistakes = parse(source)
        assert mistakes == []
        programs.append((program, source, "."))
    return bind_program(programs, functions or {})


def bind_one(select: str, functions: Mapping[str, UserFunction] | None = None) -> bound.Query:
    """The only query of a text that has no mistakes."""
    result = bind_text(DECLARATIONS, select, functions=functions)
    assert [d.message for d in result.diagnostics] == []
    (query,) = result.queries
    return query


def codes(select: str) -> list[str]:
    """The codes of what is wrong with some queries over the declarations above."""
    return [d.code for d in bind_text(DECLARATIONS, select).diagnostics]


def expression(text: str, items: str = "B") -> bound.Expression:
    """What an expression over FROM items means."""
    (output,) = bind_one(f"SELECT {text} AS x FROM {items}").outputs
    return output.expression


def condition(text: str, items: str = "B") -> bound.Expression:
    """What a WHERE condition over FROM items means."""
    where = bind_one(f"SELECT 1 AS one FROM {items} WHERE {text}").where
    assert where is not None
    return where
