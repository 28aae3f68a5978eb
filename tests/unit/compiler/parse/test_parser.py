"""Every construct of the language parses to the tree it stands for."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass

import pytest
from lark import Lark

from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.parse.parser import forget_shapes, parse
from cqc.compiler.syntax import tree as syntax
from cqc.compiler.syntax.tokens import RESERVED
from cqc.grammar import grammar_text


def statement(text: str) -> syntax.Statement:
    program, diagnostics = parse(SourceFile("test.cq", text))
    assert diagnostics == []
    (only,) = program.statements
    return only


def select(text: str) -> syntax.Select:
    query = statement(text)
    assert isinstance(query, syntax.CreateQuery)
    return query.select


def expression(text: str) -> syntax.Expression:
    where = select(f"SELECT * FROM s WHERE {text}").where
    assert where is not None
    return where


def show(node: object) -> str:
    """A tree with full brackets, for comparing structure at a glance."""
    match node:
        case syntax.NumberLiteral(text):
            return text
        case syntax.StringLiteral(value):
            return repr(value)
        case syntax.BooleanLiteral(value):
            return str(value).upper()
        case syntax.NullLiteral():
            return "NULL"
        case syntax.Now():
            return "NOW"
        case syntax.TimestampLiteral(text):
            return f"TIMESTAMP {text!r}"
        case syntax.Duration(number, unit_us):
            return f"{number}*{unit_us}us"
        case syntax.ColumnName(qualifier, column):
            return f"{qualifier.text}.{column.text}" if qualifier else column.text
        case syntax.Unary(operator, operand):
            return f"({operator} {show(operand)})"
        case syntax.Binary(operator, left, right):
            return f"({show(left)} {operator} {show(right)})"
        case syntax.Logical(operator, operands):
            return f"({f' {operator} '.join(map(show, operands))})"
        case syntax.Parenthesised(inner):
            return f"[{show(inner)}]"
        case syntax.Call(name, arguments, star, distinct):
            inside = "*" if star else ", ".join(map(show, arguments))
            return f"{name.text}({'DISTINCT ' if distinct else ''}{inside})"
        case _:
            raise AssertionError(node)


@pytest.mark.parametrize(
    ("text", "structure"),
    [
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("-a * +b", "((- a) * (+ b))"),
        ("a % 2 / 3", "((a % 2) / 3)"),
        ("a > 1 AND b < 2 OR NOT c = 3", "(((a > 1) AND (b < 2)) OR (NOT (c = 3)))"),
        ("a AND b AND c", "(a AND b AND c)"),
        ("a AND (b AND c)", "(a AND b AND c)"),
        ("((a OR b) OR (c AND d)) OR ((e))", "(a OR b OR [(c AND d)] OR [e])"),
        ("NOT a AND b", "((NOT a) AND b)"),
        ("a != b", "(a <> b)"),
        ("a = b = c", "((a = b) = c)"),
        ("s.a >= 1.5e-3", "(s.a >= 1.5e-3)"),
        ("x = .5", "(x = .5)"),
        ("x = 'it''s \\'", '(x = "it\'s \\\\")'),
        ("TRUE = FALSE", "(TRUE = FALSE)"),
        ("f() = NULL", "(f() = NULL)"),
        ("COUNT(*) > count(DISTINCT x)", "(COUNT(*) > count(DISTINCT x))"),
        ("least(a, b + 1, 2)", "least(a, (b + 1), 2)"),
        ("ts > TIMESTAMP '2024-01-01'", "(ts > TIMESTAMP '2024-01-01')"),
        ("((a))", "[a]"),
    ],
)
def test_operators_bind_as_in_sql(text: str, structure: str) -> None:
    assert show(expression(text)) == structure


@pytest.mark.parametrize(
    ("text", "unit_us", "number"),
    [
        ("6 SEC", 1_000_000, "6"),
        ("6sec", 1_000_000, "6"),
        ("6 Seconds", 1_000_000, "6"),
        ("1.5 SEC", 1_000_000, "1.5"),
        ("500 MS", 1_000, "500"),
        ("7 us", 1, "7"),
        ("5 MINUTES", 60_000_000, "5"),
        ("1 HOUR", 3_600_000_000, "1"),
        ("2 DAYS", 86_400_000_000, "2"),
        ("10s", 1_000_000, "10"),
        ("5m", 60_000_000, "5"),
        ("1h", 3_600_000_000, "1"),
        ("2d", 86_400_000_000, "2"),
        ("INTERVAL '5' MINUTE", 60_000_000, "5"),
        ("INTERVAL 5 MINUTES", 60_000_000, "5"),
        ("interval '1.5' microseconds", 1, "1.5"),
    ],
)
def test_every_form_of_a_duration_parses(text: str, unit_us: int, number: str) -> None:
    duration = select(f"SELECT * FROM a, b MAXWINDOW {text}").max_window
    assert duration is not None
    assert (duration.number, duration.unit_us) == (number, unit_us)


def test_predicates_keep_their_negation() -> None:
    between, in_list, like, is_null, distinct = (
        expression(text)
        for text in (
            "a NOT BETWEEN 1 AND 2 + 3",
            "a NOT IN (1, 'x', b)",
            "a NOT ILIKE 'x!%' ESCAPE '!'",
            "a IS NOT NULL",
            "a IS NOT DISTINCT FROM b",
        )
    )
    assert isinstance(between, syntax.Between)
    assert (show(between.low), show(between.high), between.negated) == ("1", "(2 + 3)", True)
    assert isinstance(in_list, syntax.InList)
    assert [show(value) for value in in_list.values] == ["1", "'x'", "b"]
    assert isinstance(like, syntax.Like)
    assert (like.operator, show(like.escape), like.negated) == ("ILIKE", "'!'", True)
    assert isinstance(is_null, syntax.Is)
    assert (is_null.what, is_null.negated) == ("NULL", True)
    assert isinstance(distinct, syntax.IsDistinct)
    assert distinct.negated


def test_the_and_of_between_is_not_a_conjunction() -> None:
    chain = expression("a BETWEEN 1 AND 2 AND b BETWEEN c AND d AND e")
    assert isinstance(chain, syntax.Logical)
    assert [type(operand) for operand in chain.operands] == [
        syntax.Between,
        syntax.Between,
        syntax.ColumnName,
    ]


def test_is_applies_to_a_whole_comparison() -> None:
    node = expression("x > 5 IS TRUE")
    assert isinstance(node, syntax.Is)
    assert show(node.operand) == "(x > 5)"


def test_case_has_an_operand_only_where_one_is_written() -> None:
    simple = expression("CASE a WHEN 1 THEN 'x' END")
    searched = expression("CASE WHEN a > 1 THEN 'x' WHEN b THEN 'y' ELSE 'z' END")
    assert isinstance(simple, syntax.Case)
    assert isinstance(searched, syntax.Case)
    assert (show(simple.operand), len(simple.branches), simple.otherwise) == ("a", 1, None)
    assert (searched.operand, len(searched.branches), show(searched.otherwise)) == (None, 2, "'z'")


def test_cast_knows_every_spelling_of_a_type() -> None:
    types = {"int": ColumnType.BIGINT, "Real": ColumnType.DOUBLE, "TEXT": ColumnType.STRING}
    for word, kind in types.items():
        node = expression(f"CAST(a AS {word})")
        assert isinstance(node, syntax.Cast)
        assert node.type is kind


def test_outputs_may_be_stars_and_renamed() -> None:
    star, qualified, plain, named = select('SELECT *, a.*, a.x + 1, x AS "my x" FROM a').outputs
    assert isinstance(star, syntax.Star)
    assert star.qualifier is None
    assert isinstance(qualified, syntax.Star)
    assert qualified.qualifier is not None
    assert isinstance(plain, syntax.SelectItem)
    assert plain.name is None
    assert isinstance(named, syntax.SelectItem)
    assert named.name == syntax.Name("my x", named.span, quoted=True)


def test_from_items_have_aliases_and_extents() -> None:
    items = select("SELECT * FROM a, b AS x [RANGE 5 minutes], c y [ROWS 10], d [ROWS 2] z").items
    assert [item.relation.text for item in items] == ["a", "b", "c", "d"]
    assert [item.alias.text if item.alias else None for item in items] == [None, "x", "y", "z"]
    assert [show(item.range) if item.range else None for item in items] == [
        None,
        "5*60000000us",
        None,
        None,
    ]
    assert [show(item.rows) if item.rows else None for item in items] == [None, None, "10", "2"]


def test_joins_are_items_with_conditions() -> None:
    query = select(
        "SELECT * FROM a JOIN b ON a.x = b.x INNER JOIN c AS d ON d.y = b.y CROSS JOIN e, f"
    )
    assert [item.relation.text for item in query.items] == ["a", "b", "c", "e", "f"]
    assert [show(on) for on in query.join_conditions] == ["(a.x = b.x)", "(d.y = b.y)"]


CLAUSES = [
    "WHERE x > 1",
    "WINDOW a.ts < b.ts",
    "MAXWINDOW 6 SEC",
    "BEGIN AFTER NOW - 10 MINUTES END BEFORE (NOW)",
    "EVERY 1 MINUTE",
    "GROUP BY x, y + 1",
    "HAVING COUNT(*) > 1",
    "ORDER BY x DESC NULLS LAST, y NULLS FIRST, z ASC",
    "LIMIT 3",
]


def test_clauses_come_in_any_order() -> None:
    forwards = select(f"SELECT x FROM a, b {' '.join(CLAUSES)}")
    backwards = select(f"SELECT x FROM a, b {' '.join(reversed(CLAUSES))}")
    assert forwards == backwards
    assert forwards.begin is not None
    assert forwards.end is not None
    assert (forwards.begin.exclusive, forwards.end.exclusive) == (True, True)
    assert show(forwards.begin.instant) == "(NOW - 10*60000000us)"
    assert show(forwards.end.instant) == "[NOW]"
    assert [(key.descending, key.nulls_first) for key in forwards.order_by] == [
        (True, False),
        (False, True),
        (False, None),
    ]
    assert show(forwards.limit) == "3"


@pytest.mark.parametrize(
    "instant", ["NOW", "NOW - 10", "(NOW) - 10", "TIMESTAMP '2024-01-01'", "5"]
)
def test_instants_come_with_or_without_parentheses(instant: str) -> None:
    query = select(f"SELECT * FROM a BEGIN {instant} END ({instant})")
    assert query.begin is not None
    assert query.end is not None
    assert isinstance(query.end.instant, syntax.Parenthesised)
    assert query.end.instant.inner == query.begin.instant


def test_a_stream_has_columns_watermarks_and_options() -> None:
    stream = statement(
        "CREATE STREAM B (ts TIMESTAMP, p DOUBLE, watermark INT,"
        " WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)"
        " WITH (format = 'csv', header = TRUE, size = 5)"
    )
    assert isinstance(stream, syntax.CreateRelation)
    assert stream.is_stream
    assert [column.name.text for column in stream.columns] == ["ts", "p", "watermark"]
    assert [show(mark.definition) for mark in stream.watermarks] == ["(ts - 2*1000000us)"]
    assert [show(option.value) for option in stream.options] == ["'csv'", "TRUE", "5"]


def test_a_table_needs_no_options() -> None:
    table = statement("create table t (k bigint)")
    assert isinstance(table, syntax.CreateRelation)
    assert not table.is_stream
    assert table.options == ()


def test_queries_have_names_and_settings_have_values() -> None:
    program, diagnostics = parse(
        SourceFile(
            "test.cq", "CREATE QUERY q AS SELECT * FROM s;; SELECT 1 FROM s; SET IDLE = 30s;"
        )
    )
    assert diagnostics == []
    named, bare, setting = program.statements
    assert isinstance(named, syntax.CreateQuery)
    assert named.name is not None
    assert isinstance(bare, syntax.CreateQuery)
    assert bare.name is None
    assert isinstance(setting, syntax.SetOption)
    assert show(setting.value) == "30*1000000us"


@pytest.mark.parametrize(
    "name",
    [
        *("s", "m", "h", "d", "sec", "second", "minutes", "day", "range", "rows", "first", "last"),
        *(
            "asc",
            "desc",
            "nulls",
            "stream",
            "table",
            "query",
            "watermark",
            "after",
            "by",
            "data",
            "firing",
        ),
        *("before", "timestamp", "interval", "text", "int", "string", "offset", "view"),
        *("retention", "escape", '"select"', "`from`", '"a ""b"""', "größe", "_x1"),
    ],
)
def test_words_that_are_not_reserved_are_names_everywhere(name: str) -> None:
    program, diagnostics = parse(
        SourceFile(
            "test.cq",
            f"CREATE STREAM {name} (ts BIGINT, {name} BIGINT);"
            f"CREATE QUERY {name} AS SELECT {name}, {name}.{name} + 1 AS {name}, {name}.*, {name}(1)"
            f" FROM {name}, {name} AS {name}, {name} {name} [ROWS 3]"
            f" WHERE {name} > 1 AND x BETWEEN {name} AND {name}"
            f" GROUP BY {name} ORDER BY {name} DESC, {name}.{name};",
        )
    )
    assert diagnostics == []
    assert len(program.statements) == 2


def test_now_is_a_name_after_a_dot_and_as_an_alias() -> None:
    assert select("SELECT s.now AS now FROM now").items[0].relation.text == "now"


def test_quotes_inside_quoted_names_are_written_twice() -> None:
    item = select('SELECT "a ""b""" FROM `x``y`').items[0]
    assert item.relation.text == "x`y"


def test_comments_are_white_space() -> None:
    plain = select("SELECT a FROM s WHERE a > 1")
    assert plain == select("SELECT/**/a -- ; x '\nFROM s /* ' ; \" -- */ WHERE a>1 -- end")


def test_an_empty_program_has_no_statements() -> None:
    for text in ("", " \n\t", ";;", "-- nothing\n", "/* nothing */"):
        assert parse(SourceFile("test.cq", text)) == (syntax.Program(()), [])


def test_every_node_has_the_span_of_its_text() -> None:
    text = "\n -- x\nSELECT a.b AS c,  f( 1 )  FROM s t WHERE  (x+1) > 2 LIMIT 3 ; "
    query = statement(text)
    assert isinstance(query, syntax.CreateQuery)
    assert query.span.text == text[7:].rstrip(" ;")
    first, second = query.select.outputs
    assert first.span.text == "a.b AS c"
    assert second.span.text == "f( 1 )"
    assert query.select.items[0].span.text == "s t"
    assert query.select.where is not None
    assert query.select.where.span.text == "(x+1) > 2"


def test_two_statements_of_one_shape_keep_their_own_texts_and_places() -> None:
    source = SourceFile(
        "test.cq", "SELECT a FROM s WHERE a > 1;\nSELECT bb FROM \"t u\" WHERE c <= 'x'"
    )
    program, _ = parse(source)
    texts = [
        [part.text for part in spans_of(query) if part.text.isalnum()]
        for query in program.statements
    ]
    assert texts == [["a", "s", "a", "1"], ["bb", "c"]]


def spans_of(node: object) -> list[object]:
    """The spans of all leaves, in order."""
    if isinstance(node, tuple):
        return [span for part in node for span in spans_of(part)]
    if not is_dataclass(node):
        return []
    inner = [
        span
        for part in fields(node)
        if part.name != "span"
        for span in spans_of(getattr(node, part.name))
    ]
    return inner or [node.span]  # type: ignore[attr-defined]


def test_a_chain_of_thousands_of_conditions_is_one_level_deep() -> None:
    for operator in ("OR", "AND"):
        chain = expression(f" {operator} ".join(f"x = '{n}'" for n in range(5_000)))
        assert isinstance(chain, syntax.Logical)
        assert len(chain.operands) == 5_000
    in_list = expression(f"x IN ({', '.join(map(str, range(5_000)))})")
    assert isinstance(in_list, syntax.InList)
    assert len(in_list.values) == 5_000


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 150 + "x" + ")" * 150,
        "NOT " * 150 + "x",
        "-" + " -" * 150 + " x",
        " + ".join(["x"] * 150),
    ],
)
def test_sane_nesting_is_accepted(deep: str) -> None:
    expression(deep)


@pytest.mark.parametrize("count", [300, 3_000])
@pytest.mark.parametrize("opening", ["(1 + ", "NOT ", "- ", "f(", "CASE WHEN ", "x + "])
def test_insane_nesting_is_a_diagnostic(opening: str, count: int) -> None:
    closing = {"(1 + ": ")", "f(": ")", "CASE WHEN ": " THEN 1 END"}.get(opening, "")
    if opening == "x + ":
        opening, closing = "", " + x"
    program, diagnostics = parse(
        SourceFile("test.cq", f"SELECT * FROM s WHERE {opening * count}x{closing * count}")
    )
    assert program.statements == ()
    assert [diagnostic.code for diagnostic in diagnostics] == ["CQ015"]


@pytest.mark.parametrize("step", ["({0} OR {1})", "({1} OR {0})", "(({0}) OR ({1}))", "({0})"])
def test_parentheses_around_each_step_of_a_long_rule_are_no_nesting(step: str) -> None:
    rule = "x = 0"
    for number in range(1, 1_000):
        rule = step.format(rule, f"x = {number}")
    program, diagnostics = parse(SourceFile("test.cq", f"SELECT * FROM s WHERE {rule}"))
    assert diagnostics == []
    assert len(program.statements) == 1


def test_the_grammar_and_the_tokenizer_agree_on_reserved_words() -> None:
    found = re.search(r"PLAIN_NAME: /\(\?!\(\?:([A-Z|]+)\)", grammar_text())
    assert found is not None
    assert set(found[1].split("|")) == RESERVED


def test_the_grammar_alone_reads_programs_as_they_are_written() -> None:
    lark = Lark(grammar_text(), parser="lalr", lexer="contextual")
    lark.parse(
        """create stream B (ts timestamp, second double, watermark for ts as ts - 2sec);
        /* a comment */ Select B.second, "a b" As first From B b [Range 5 minutes] -- more
        Where b.second Not Between 1 And 2.5 Begin (Now - 10) End Now;"""
    )


def test_every_reserved_word_names_an_option_without_quotes() -> None:
    words = [word.lower() for word in sorted(RESERVED)]
    options = ", ".join(f"{word} = 'x'" for word in words)
    sink = statement(f"CREATE SINK s WITH ({options})")
    assert isinstance(sink, syntax.CreateSink)
    assert [option.key.text for option in sink.options] == words


def test_what_was_kept_for_the_next_text_is_made_anew_when_there_is_one() -> None:
    before = statement("SELECT a FROM B WHERE a < 3")
    forget_shapes()
    assert statement("SELECT a FROM B WHERE a < 3") == before
    assert parse(SourceFile("test.cq", "SELECT FROM;"))[1] != []
