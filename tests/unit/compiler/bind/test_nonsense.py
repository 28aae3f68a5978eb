"""Whatever parses is bound or explained: random programs without sense, and the invariants of what is bound."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from cqc.compiler.bind.statements.bind_program import bind_program
from cqc.compiler.diagnostics.diagnostic import Severity, render_text
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.meaning import bound
from cqc.compiler.meaning.types import ColumnType, common_type
from cqc.compiler.parse.parser import parse
from tests.support.bind_text import DECLARATIONS

LEAVES = st.sampled_from(
    ["1", "0", "2.5", "9223372036854775807", "'a'", "'2024-01-01'", "NULL", "TRUE", "ts", "B.ts",
     "T.ts", "pressure", "bed", "B.bed", "name", "ok", "x.y", "B.nothing", "5 SEC", "NOW", "out",
     "INTERVAL '1.5' HOUR", "COUNT(*)", "TIMESTAMP '2024-01-01 00:00:00'"]
)  # fmt: skip
FUNCTIONS = st.sampled_from(
    ["abs", "round", "floor", "ceil", "least", "greatest", "coalesce", "lower", "length", "concat",
     "substring", "SUM", "MAX", "COUNT", "nofun"]
)  # fmt: skip
BINARY = st.sampled_from(
    ["+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "IS DISTINCT FROM"]
)


def branches(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, BINARY, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["-", "+", "NOT "]), inner).map(lambda t: f"({t[0]}{t[1]})"),
        st.tuples(FUNCTIONS, st.lists(inner, max_size=3)).map(lambda t: f"{t[0]}({', '.join(t[1])})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} NOT BETWEEN {t[1]} AND {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} IN ({t[1]}, {t[2]}))"),
        st.tuples(inner, inner, inner).map(lambda t: f"CASE WHEN {t[0]} THEN {t[1]} ELSE {t[2]} END"),
        st.tuples(inner, inner, inner).map(lambda t: f"CASE {t[0]} WHEN {t[1]} THEN {t[2]} END"),
        inner.map(lambda e: f"CAST({e} AS DOUBLE)"),
        inner.map(lambda e: f"({e} LIKE 'a%')"),
        inner.map(lambda e: f"({e} IS NOT NULL)"),
        inner.map(lambda e: f"({e} IS TRUE)"),
    )  # fmt: skip


EXPRESSIONS = st.recursive(LEAVES, branches, max_leaves=12)
ITEMS = st.sampled_from(
    ["B", "B, T", "B AS x, B", "N", "N, D", "B, N", "ward", "B, nowhere", "B, B"]
)
INSTANTS = st.sampled_from(
    ["NOW", "NOW - 5", "5", "TIMESTAMP '2024-01-01'", "'x'", "bed", "NOW * 2", "5 SEC - 1"]
)


@st.composite
def selects(draw: st.DrawFn) -> str:
    def sometimes(clause: str, value: st.SearchStrategy[str]) -> str:
        return f" {clause} {draw(value)}" if draw(st.booleans()) else ""

    text = f"SELECT {draw(EXPRESSIONS)} AS out, {draw(EXPRESSIONS)} FROM {draw(ITEMS)}"
    text += sometimes("WHERE", EXPRESSIONS) + sometimes("WINDOW", EXPRESSIONS)
    if draw(st.booleans()):
        text += f" BEGIN {draw(INSTANTS)} END {draw(INSTANTS)}"
        text += sometimes("GROUP BY", EXPRESSIONS) + sometimes("HAVING", EXPRESSIONS)
        text += sometimes("ORDER BY", EXPRESSIONS)
    return text


def check_types(expression: bound.Expression) -> None:
    """What `bound.py` promises about the types of operands."""
    assert expression.type is not ColumnType.NULL
    parts = bound.children(expression)
    match expression:
        case bound.Comparison() | bound.IsDistinct():
            assert common_type(expression.left.type, expression.right.type) is not None
        case bound.And() | bound.Or():
            assert len(parts) > 1
            assert {part.type for part in parts} == {ColumnType.BOOLEAN}
            assert all(type(part) is not type(expression) for part in parts)
        case bound.Not() | bound.IsTruth():
            assert expression.operand.type is ColumnType.BOOLEAN
        case bound.Case():
            assert {value.type for _, value in expression.branches} == {expression.type}
            assert expression.otherwise.type is expression.type
        case bound.FunctionCall(name="coalesce" | "least" | "greatest"):
            assert {part.type for part in parts} == {expression.type}
        case _:
            pass
    for part in parts:
        check_types(part)


def expressions_of(query: bound.Query) -> Iterator[bound.Expression]:
    yield from (output.expression for output in query.outputs)
    conditions = [query.where, query.window]
    if query.pull is not None:
        yield from query.pull.group_by
        yield from (order.expression for order in query.pull.order_by)
        conditions.append(query.pull.having)
    yield from (condition for condition in conditions if condition is not None)


@settings(max_examples=200)
@given(selects())
def test_a_query_is_bound_soundly_or_its_mistakes_are_explained(select: str) -> None:
    source = SourceFile("nonsense.cq", DECLARATIONS + select)
    program, mistakes = parse(source)
    assert mistakes == []
    result = bind_program([(program, source, ".")], {})
    errors = [d for d in result.diagnostics if d.severity is Severity.ERROR]
    assert bool(errors) is not bool(result.queries)
    assert render_text(result.diagnostics).count(" --> nonsense.cq:") == len(result.diagnostics)
    for query in result.queries:
        conditions = [
            condition for condition in (query.where, query.window) if condition is not None
        ]
        for expression in [*(output.expression for output in query.outputs), *conditions]:
            check_types(expression)
        for output in query.outputs:
            assert output.expression.type is not ColumnType.INTERVAL
