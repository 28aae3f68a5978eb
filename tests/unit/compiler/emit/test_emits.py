"""Every form in which a program is shown: recorded for one program, and readable at any size."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

import cqc
from cqc.compiler.emit import explain, mermaid
from cqc.compiler.emit import json as emit_json
from cqc.compiler.graph import dot_form as dot
from cqc.compiler.graph import svg_form as svg
from cqc.compiler.graph.nodes import OperatorKind
from cqc.compiler.wording.times import distance_text
from tests.conftest import GOLDEN, Golden

if TYPE_CHECKING:
    from cqc.compiler import Program

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def icu() -> Program:
    return cqc.compile_files([GOLDEN / "explain" / "icu.cq"])


@pytest.fixture(scope="module")
def many() -> Program:
    queries = "".join(f"SELECT x FROM s WHERE x > {at} AND y < {at};" for at in range(2_000))
    joins = "".join(
        f"SELECT s.x FROM s, r WHERE s.x = r.x AND s.y < r.y + {at} MAXWINDOW 1 SEC;"
        for at in range(60)
    )
    streams = "CREATE STREAM s (ts TIMESTAMP, x BIGINT, y BIGINT); CREATE STREAM r (ts TIMESTAMP, x BIGINT, y BIGINT);"
    return cqc.compile(streams + queries + joins)


def test_the_explanation_is_as_recorded(icu: Program, golden: Golden) -> None:
    golden("explain/icu.explain", explain.emit(icu))


def test_the_graphviz_form_is_as_recorded(icu: Program, golden: Golden) -> None:
    golden("explain/icu.dot", dot.emit(icu))


def test_the_mermaid_form_is_as_recorded(icu: Program, golden: Golden) -> None:
    golden("explain/icu.mermaid", mermaid.emit(icu))


def test_the_json_form_is_the_graph(icu: Program) -> None:
    assert json.loads(emit_json.emit(icu)) == json.loads(icu.graph.to_json())


def test_notes_are_appended_to_the_operators_they_are_about(icu: Program) -> None:
    text = explain.emit(icu, {"filter:B.temp": "3 in, 1 out", "join:0": "7 results"})
    assert re.search(r"filter on temp, shared by .*\[3 in, 1 out\]", text)
    assert re.search(r"join0: .*\[7 results\]", text)


def test_an_explanation_of_thousands_of_queries_stays_short(many: Program) -> None:
    text = explain.emit(many)
    assert len(text.splitlines()) < 250
    assert "2,060 queries" in text
    assert "... and 2,020 more queries" in text
    assert "60 members ordered by coverage" in text


def test_queries_that_share_their_conditions_are_one_question_only_when_they_ask_the_same() -> None:
    program = cqc.compile(
        "CREATE STREAM s (ts TIMESTAMP, x BIGINT);"
        "CREATE QUERY mean AS SELECT AVG(x) FROM s WHERE x > 1 BEGIN NOW - 10 MINUTES END NOW;"
        "CREATE QUERY many AS SELECT COUNT(*) FROM s WHERE x > 1 BEGIN NOW - 10 MINUTES END NOW;"
        "CREATE QUERY rows AS SELECT x FROM s WHERE x > 1;"
        "CREATE QUERY twin AS SELECT x FROM s WHERE 1 < x;"
    )
    text = explain.emit(program)
    assert text.startswith("4 queries with the same conditions\n")
    assert "mean (pull, the same conditions as many and 2 more)" in text
    assert "rows (push, the same question as twin, the same conditions as mean and 1 more)" in text


def test_a_picture_of_thousands_of_queries_stays_small(many: Program) -> None:
    assert len(dot.emit(many).splitlines()) < 60
    assert len(mermaid.emit(many).splitlines()) < 60
    assert "more" in dot.emit(many)


@pytest.mark.parametrize("name", ["icu", "many"])
def test_no_box_of_the_picture_covers_another(name: str, request: pytest.FixtureRequest) -> None:
    root = ET.fromstring(svg.emit(request.getfixturevalue(name)))
    boxes = []
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        x, y, width, height = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        boxes.append((x, y, x + width, y + height))
        texts = [text.text or "" for text in group.iter(f"{SVG}text")]
        assert max(map(len, texts)) * 7.3 <= width
    for at, (x, y, right, bottom) in enumerate(boxes):
        for other_x, other_y, other_right, other_bottom in boxes[:at]:
            apart = right <= other_x or other_right <= x or bottom <= other_y or other_bottom <= y
            assert apart


@pytest.fixture(scope="module")
def self_join() -> Program:
    return cqc.compile(
        "CREATE STREAM s (ts TIMESTAMP, room BIGINT, x BIGINT);"
        "CREATE QUERY jump AS SELECT a.x FROM s a, s b"
        " WHERE a.room = b.room AND abs(a.x - b.x) > 2 MAXWINDOW 1 SEC;"
        "CREATE QUERY high AS SELECT x FROM s WHERE x > 3;"
        "CREATE QUERY mean AS SELECT AVG(x) FROM s BEGIN NOW - 1 MINUTE END NOW;"
    )


def test_a_self_join_is_one_query_of_its_stream(self_join: Program) -> None:
    queries = {node.id: node.queries for node in self_join.graph.nodes}
    assert queries["source:s"] == 3
    assert queries["state:s"] == 1
    assert queries["filter:s.x"] == 1


def test_the_inputs_of_a_self_join_are_numbered(self_join: Program) -> None:
    labels = {node.id: node.label for node in self_join.graph.nodes}
    assert labels["residual:join0.0"] == "abs(s#1.x - s#2.x) > 2"


def test_a_history_is_named_after_what_it_keeps(self_join: Program) -> None:
    labels = [node.label for node in self_join.graph.nodes if node.kind.value == "History"]
    assert labels == ["s"]


def test_the_picture_says_what_its_dashed_lines_are(self_join: Program) -> None:
    legend = "what a join tells its inputs not to send"
    assert legend in svg.emit(self_join)
    assert "label=feedback" in dot.emit(self_join)
    assert "-.->|feedback|" in mermaid.emit(self_join)
    assert legend not in svg.emit(cqc.compile("CREATE STREAM s (ts BIGINT); SELECT ts FROM s;"))


def test_names_that_look_like_markup_are_escaped() -> None:
    program = cqc.compile(
        'CREATE STREAM "a<b" (ts TIMESTAMP, "x&y" BIGINT); SELECT "x&y" FROM "a<b" WHERE "x&y" > 1;'
    )
    ET.fromstring(svg.emit(program))
    assert "a<b" not in mermaid.emit(program)
    assert '"a<b"' in explain.emit(program)


def test_a_program_without_queries_is_shown_too() -> None:
    program = cqc.compile("CREATE STREAM s (ts TIMESTAMP);")
    assert "read by no query" in explain.emit(program)
    ET.fromstring(svg.emit(program))


def test_a_control_character_in_a_name_leaves_the_picture_well_formed() -> None:
    program = cqc.compile('CREATE STREAM "a\x01b" (ts BIGINT); SELECT ts FROM "a\x01b";')
    titles = [title.text for title in ET.fromstring(svg.emit(program)).iter(f"{SVG}title")]
    assert "a\N{REPLACEMENT CHARACTER}b" in titles
    assert dot.emit(program).startswith("digraph")


@pytest.mark.parametrize(
    ("lowest", "highest", "words"),
    [
        (0, 0, "B at the same time as A"),
        (-5_000_000, 5_000_000, "B within 5 s of A"),
        (0, 2_000_000, "B at or after A, by up to 2 s"),
        (1, 2_000_000, "B after A, by up to 2 s"),
        (1_000_000, 2_500_000, "B 1 s to 2500 ms after A"),
        (-3_000_000, -1, "B before A, by up to 3 s"),
        (-3_000_000, 500_000, "B from 3 s before to 500 ms after A"),
        (1, None, "B after A"),
        (0, None, "B at or after A"),
        (60_000_000, None, "B at least 1 min after A"),
        (-60_000_000, None, "B any time after, or at most 1 min before A"),
        (None, 0, "B at or before A"),
        (None, None, "B at any distance from A"),
        (2_000_000, 2_000_000, "B 2 s after A"),
    ],
)
def test_time_bounds_are_said_in_words(lowest: int | None, highest: int | None, words: str) -> None:
    assert distance_text("A", "B", lowest, highest) == words


def test_every_kind_of_operator_is_drawn() -> None:
    program = cqc.compile("""
        CREATE STREAM s (ts BIGINT, x BIGINT); CREATE STREAM r (ts BIGINT, x BIGINT);
        CREATE VIEW both AS SELECT s.x FROM s, r WHERE s.x = r.x MAXWINDOW 1 SEC;
        CREATE VIEW per_minute AS SELECT window_end, COUNT(*) AS n FROM TUMBLE(s, 1 MINUTE) GROUP BY window_end;
        CREATE QUERY seen AS SELECT x FROM both;
        CREATE QUERY counted AS SELECT n FROM per_minute;
        CREATE QUERY told AS SELECT window_end, COUNT(*) AS n FROM TUMBLE(s, 1 MINUTE) GROUP BY window_end;
        CREATE QUERY missing AS SELECT s.x FROM s WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.x = s.x MAXWINDOW 1 SEC);
        CREATE QUERY asked AS SELECT MAX(x) AS m FROM s BEGIN 0 END NOW;
        CREATE ALERT high AS SELECT x FROM s WHERE x > 3 PER x NO DATA AFTER 1 MINUTE;
    """)
    kinds = {operator.kind for operator in program.graph.nodes}
    assert {
        OperatorKind.VIEW,
        OperatorKind.ABSENCE,
        OperatorKind.DECIDED,
        OperatorKind.ALERT,
    } <= kinds
    for form in (dot, mermaid, svg):
        text = form.emit(program)
        assert all(kind.value in text for kind in kinds), form.__name__
    assert all(
        set(OperatorKind) == set(drawn) for drawn in (dot._SHAPES, mermaid._BRACKETS, svg._COLOURS)
    )
