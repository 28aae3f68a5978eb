"""Formatted programs look as they should, and keep their comments."""

from __future__ import annotations

from textwrap import dedent

import pytest

from cqc.compiler.diagnostics.diagnostic import CompileError
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.format.formatter import format_program
from cqc.compiler.parse.parser import parse


def formatted(text: str) -> str:
    once = format_program(SourceFile("test.cq", text))
    assert format_program(SourceFile("test.cq", once)) == once
    assert parse(SourceFile("test.cq", once)) == parse(SourceFile("test.cq", text))
    return once


def check(text: str, expected: str) -> None:
    assert formatted(dedent(text)) == dedent(expected).lstrip("\n")


def test_every_clause_begins_a_line_and_keywords_are_upper_case() -> None:
    check(
        """select distinct a, T.b as c from S, T t [range 5 minutes] where a>1 and not b=2
           window S.ts<t.ts maxwindow 6sec begin after now-10 end (now) every 1 hour
           group by a,b having count(*)>1 order by a desc nulls last limit 3""",
        """
        SELECT DISTINCT a, T.b AS c
        FROM   S, T t [RANGE 5 MINUTES]
        WHERE  a > 1 AND NOT b = 2
        WINDOW S.ts < t.ts
        MAXWINDOW 6 SEC
        BEGIN  AFTER NOW - 10 END (NOW)
        EVERY  1 HOUR
        GROUP BY a, b
        HAVING count(*) > 1
        ORDER BY a DESC NULLS LAST
        LIMIT  3;
        """,
    )


def test_joins_are_indented_under_from() -> None:
    check(
        "create query q as select * from a join b on a.x=b.x cross join c",
        """
        CREATE QUERY q AS
        SELECT *
        FROM   a
               JOIN b ON a.x = b.x
               CROSS JOIN c;
        """,
    )


def test_names_stay_as_written() -> None:
    check(
        'select Range, "Group", `x y`, Count(Day) from Rows',
        """
        SELECT Range, "Group", `x y`, Count(Day)
        FROM   Rows;
        """,
    )


def test_operators_and_signs_are_spaced() -> None:
    check(
        "select a from s group by -a, a- -b, - -a, a*-3, +f(x,-1), (a+b)%2, cast(a as int), 10s, a!=1",
        """
        SELECT a
        FROM   s
        GROUP BY -a, a - -b, - -a, a * -3, +f(x, -1), (a + b) % 2, CAST(a AS INT), 10s, a <> 1;
        """,
    )


def test_an_output_that_is_named_by_its_source_text_keeps_it() -> None:
    check(
        "select x+1, case  when x=1 then /* one */not x!=2 end, x+1 as y, ( X ), count (*)from s",
        """
        SELECT x+1, case when x=1 then /* one */ not x!=2 end, x + 1 AS y, (X), count (*)
        FROM   s;
        """,
    )


def test_a_long_name_is_broken_only_where_it_has_a_gap() -> None:
    call = f"concat({','.join('abcdefghij' for _ in range(12))})"
    check(
        f"select a,{call}, {call}  +1 from s",
        f"""
        SELECT a,
               {call},
               {call}
               +1
        FROM   s;
        """,
    )


def test_a_long_condition_has_a_line_for_each_operand() -> None:
    names = [f"a_rather_long_column_name_{n}" for n in range(4)]
    check(
        f"select * from s where {' and '.join(f'{name} between 1 and 2' for name in names)}",
        """
        SELECT *
        FROM   s
        WHERE  a_rather_long_column_name_0 BETWEEN 1 AND 2
           AND a_rather_long_column_name_1 BETWEEN 1 AND 2
           AND a_rather_long_column_name_2 BETWEEN 1 AND 2
           AND a_rather_long_column_name_3 BETWEEN 1 AND 2;
        """,
    )


def test_no_line_of_a_long_list_is_longer_than_100_columns() -> None:
    text = formatted(
        f"select {', '.join(f'column_{n}' for n in range(50))} from s where x in ({', '.join(map(str, range(500)))})"
    )
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) < 40


def test_a_declaration_stays_on_one_line_when_it_fits() -> None:
    check(
        "create table ward(bed bigint,nurse string)with(format='csv')",
        "CREATE TABLE ward (bed BIGINT, nurse STRING) WITH (format = 'csv');\n",
    )


def test_a_long_declaration_is_aligned_with_its_bracket() -> None:
    check(
        """create stream B (ts timestamp, pressure double, temp double,
           watermark for ts as ts - interval '2' second) with (format='csv', path='data/blood/')""",
        """
        CREATE STREAM B (ts TIMESTAMP, pressure DOUBLE, temp DOUBLE,
                         WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
          WITH (format = 'csv', path = 'data/blood/');
        """,
    )


def test_comments_stay_where_they_are() -> None:
    check(
        """
        -- header

        /* two
           lines */
        select a, -- first
          b /* second */ , c
        -- the source
        from s where x > 1 -- big
          -- and
          and y > 2 -- last
        ;  -- after
        -- end""",
        """
        -- header

        /* two
           lines */
        SELECT a,  -- first
               b /* second */, c
        -- the source
        FROM   s
        WHERE  x > 1  -- big
           -- and
           AND y > 2;  -- last
        -- after
        -- end
        """,
    )


def test_blank_lines_between_statements_are_kept_to_one() -> None:
    check(
        "set retention = 1 hour;\nset idle = 1 s;\nset max_ahead = 1 day;\n\n\n\nselect * from s;;\n\n-- x\n\n\n-- y\n",
        """
        SET retention = 1 HOUR;
        SET idle = 1s;
        SET max_ahead = 1 DAY;

        SELECT *
        FROM   s;

        -- x

        -- y
        """,
    )


def test_a_program_without_statements_keeps_its_comments() -> None:
    check("\n\n-- only this\n", "-- only this\n")
    assert formatted("") == ""


def test_a_program_with_mistakes_is_not_formatted() -> None:
    with pytest.raises(CompileError) as error:
        format_program(SourceFile("test.cq", "SELECT * FORM s"))
    assert [found.code for found in error.value.diagnostics] == ["CQ004"]
