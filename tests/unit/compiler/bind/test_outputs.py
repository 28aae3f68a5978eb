import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax.source_names import source_name
from tests.support.bind_text import PULL, bind_one, codes


def names(select: str) -> list[str]:
    return [output.name for output in bind_one(select).outputs]


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("SELECT * FROM T", ["ts", "fluct", "bed"]),
        ("SELECT x.* FROM T AS x", ["ts", "fluct", "bed"]),
        ("SELECT * FROM N AS n, N AS Nn MAXWINDOW 1 s", ["n.ts", "n.v", "Nn.ts", "Nn.v"]),
        ("SELECT Nn.* FROM N AS n, N AS Nn MAXWINDOW 1 s", ["Nn.ts", "Nn.v"]),
        ("SELECT *, v * 2 FROM N", ["ts", "v", "v * 2"]),
        ("SELECT *, v FROM n", ["ts", "v", "n.v"]),
        ("SELECT PRESSURE FROM B", ["pressure"]),
        ("SELECT ((B.pressure)) FROM B", ["pressure"]),
        ("SELECT B.bed, T.bed FROM B, T MAXWINDOW 1 s", ["B.bed", "T.bed"]),
        ("SELECT x.bed, y.bed AS b FROM B x, T y MAXWINDOW 1 s", ["bed", "b"]),
        ("SELECT x.bed, y.fluct AS Bed FROM B x, T y MAXWINDOW 1 s", ["x.bed", "Bed"]),
        ("SELECT pressure  +\n  bed/* why */*-- so\n2 FROM B", ["pressure + bed * 2"]),
        ("SELECT concat(name, ' --  x'), 'a  b' FROM B", ["concat(name, ' --  x')", "'a  b'"]),
        ("SELECT (bed + 1) FROM B", ["(bed + 1)"]),
        ('SELECT bed AS "Bed no. 1" FROM B', ["Bed no. 1"]),
        (f"SELECT COUNT(*), MAX(bed) FROM B {PULL}", ["COUNT(*)", "MAX(bed)"]),
    ],
)
def test_outputs_are_named(select: str, expected: list[str]) -> None:
    assert names(select) == expected


@pytest.mark.parametrize(
    "select",
    [
        "SELECT bed, bed FROM B",
        "SELECT bed + 1, bed  +  1 FROM B",
        "SELECT *, * FROM B",
        "SELECT *, bed * 2 AS name FROM B",
        "SELECT bed AS a, name AS A FROM B",
    ],
)
def test_two_outputs_of_one_name_are_an_error(select: str) -> None:
    assert set(codes(select)) == {"CQ037"}


def test_a_duration_is_seconds_as_an_output() -> None:
    query = bind_one("SELECT B.ts - T.ts AS gap FROM B, T MAXWINDOW 1 s")
    assert [output.expression.type for output in query.outputs] == [ColumnType.DOUBLE]


def test_the_difference_of_numeric_event_times_is_a_number() -> None:
    assert names("SELECT x.ts - y.ts FROM N x, N y MAXWINDOW 1 s") == ["x.ts - y.ts"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a", "a"),
        ("a\t\n b", "a b"),
        ("a--c\n+b", "a +b"),
        ("f(/* x */a)", "f( a)"),
        ("'it''s  --' || \"x  y\"", "'it''s  --' || \"x  y\""),
        ("`a  b`  + 1", "`a  b` + 1"),
    ],
)
def test_white_space_and_comments_are_folded_outside_quotes(text: str, name: str) -> None:
    assert source_name(text) == name
