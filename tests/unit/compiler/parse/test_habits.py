"""What other systems have is told how it is written here, and never something that is wrong."""

from __future__ import annotations

import re

import pytest

import cqc

DECLARED = """CREATE STREAM s (ts TIMESTAMP, k BIGINT, x DOUBLE, name STRING);
CREATE STREAM r (ts TIMESTAMP, k BIGINT, y DOUBLE);
"""

HABITS = [
    ("SELECT x FROM s EMIT CHANGES", "Leave it out"),
    ("SELECT x FROM s WHERE x > 1 EMIT CHANGES", "Leave it out"),
    ("SELECT x FROM s WHERE name REGEXP 'a.*'", "`RLIKE`"),
    ("SELECT x FROM s WHERE name NOT REGEXP 'a.*'", "`RLIKE`"),
    ("SELECT x FROM s WHERE name SIMILAR TO 'a.*'", "`RLIKE`"),
    ("SELECT x FROM s WHERE name ~ 'a.*'", "`RLIKE`"),
    ("SELECT x FROM s WHERE ts > now()", "without brackets"),
    ("SELECT x FROM s WHERE ts > NOW - 5 MINUTES", "`BEGIN NOW - 10 MINUTES END NOW`"),
    ("SELECT x FROM s WHERE ts > current_timestamp", "`BEGIN NOW - 10 MINUTES END NOW`"),
    ("SELECT getdate() FROM s", "`BEGIN NOW - 10 MINUTES END NOW`"),
    ("SELECT ROWTIME FROM s", "event-time column"),
    ("SELECT x FROM s BEGIN NOW - '1 hour' END NOW", "`1 HOUR`"),
    ("SELECT x FROM s WHERE x > :most", "Declare it: `SET :most = 0;`"),
    ("SELECT x FROM s WHERE x > $1", "Write the value itself"),
    ("SELECT x FROM s WHERE x > ?", "Write the value itself"),
    ("SELECT x FROM s FETCH FIRST 3 ROWS ONLY", "`LIMIT n`"),
    ("SELECT TOP 5 x FROM s", "`LIMIT n`"),
    ("SELECT s.x FROM s JOIN r WITHIN 5 SECONDS ON s.k = r.k", "`MAXWINDOW 5 SECONDS`"),
    ("SELECT s.x FROM s JOIN r USING (k) MAXWINDOW 5 SEC", "`ON a.k = b.k`"),
    ("SELECT x INTO out FROM s", "`CREATE QUERY name INTO sink AS SELECT ...`"),
    ("INSERT INTO out SELECT x FROM s", "`CREATE QUERY out AS SELECT ...`"),
    ("CREATE STREAM q AS SELECT x FROM s", "`CREATE QUERY q AS SELECT ...`"),
    ("CREATE SOURCE q (a BIGINT)", "`CREATE STREAM name"),
    ("CREATE OR REPLACE QUERY q AS SELECT x FROM s", "Leave out `OR REPLACE`"),
    ("CREATE QUERY IF NOT EXISTS q AS SELECT x FROM s", "Leave it out"),
    ("CREATE STREAM z (ts TIMESTAMP(3))", "Types have no length"),
    ("CREATE STREAM z (ts DATETIME)", "`TIMESTAMP`"),
    ("CREATE STREAM z (ts TIMESTAMP NOT NULL)", "A column has a name and a type"),
    ("CREATE STREAM z (ts TIMESTAMP) WITH (connector = 'kafka')", "`format = '...'`"),
    ("CREATE STREAM z (ts TIMESTAMP) WITH (kafka_topic = 'a')", "topic = '...'"),
    ("EXPLAIN SELECT x FROM s", "`cqc explain PROGRAM`"),
    ("INCLUDE 'other.cq'", "one program"),
    ("COMMIT", "no transactions"),
    ("SELECT x FROM s MATCH_RECOGNIZE (PARTITION BY k)", "WINDOW b.ts > a.ts"),
    ("SELECT * FROM PATTERN [every a=s -> b=r]", "WINDOW b.ts > a.ts"),
    ("SELECT x FROM s#length(10)", "`[ROWS 10]`"),
    ("SELECT x FROM db.s", '`"db.s"`'),
    ("SELECT [x] FROM s", '`"x"`'),
    ("SELECT * EXCEPT (x) FROM s", "Name the columns"),
    ("SELECT IIF(x > 1, 1, 2) FROM s", "`if(condition, a, b)`"),
    ('SELECT x FROM s WHERE name = "fred"', "`'fred'`"),
    ("SELECT x FROM s WHERE x > 1 && x < 3", "`AND`"),
    ("SELECT x FROM s LIMIT 3", "BEGIN AFTER NOW"),
    ("SELECT COUNT(*) FROM s", "BEGIN AFTER NOW"),
    ("# a comment", "`--`"),
]


@pytest.mark.parametrize(("text", "hint"), HABITS, ids=[text for text, _ in HABITS])
def test_a_habit_is_told_the_way_of_this_language(text: str, hint: str) -> None:
    with pytest.raises(cqc.CompileError) as caught:
        cqc.compile(DECLARED + text)
    assert hint in " ".join(each.hint or "" for each in caught.value.diagnostics)


@pytest.mark.parametrize(
    "text", [text for text, _ in HABITS if text.startswith("SELECT x FROM s ")]
)
def test_no_hint_suggests_a_comma_or_a_column_of_that_name(text: str) -> None:
    with pytest.raises(cqc.CompileError) as caught:
        cqc.compile(DECLARED + text)
    hints = " ".join(each.hint or "" for each in caught.value.diagnostics)
    assert not re.search(r"EMIT,|REGEXP,|FETCH,|SIMILAR,|Join two conditions", hints)


@pytest.mark.parametrize(
    "name",
    ["regexp", "emit", "changes", "matches", "glob", "include", "current_timestamp", "grace"],
)
def test_such_words_are_names_like_others(name: str) -> None:
    program = cqc.compile(
        f"CREATE STREAM {name} (ts TIMESTAMP, {name} BIGINT); SELECT {name} FROM {name} WHERE {name} > 1"
    )
    assert program.queries.names == ["q1"]


def test_the_rest_of_a_statement_is_checked_as_it_was_meant() -> None:
    with pytest.raises(cqc.CompileError) as caught:
        cqc.compile(DECLARED + "SELECT z FROM s WHERE name REGEXP 'a' EMIT CHANGES")
    assert [each.code for each in caught.value.diagnostics] == ["CQ031", "CQ018", "CQ018"]
