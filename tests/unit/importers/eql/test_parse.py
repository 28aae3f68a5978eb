"""EQL text to what it says, and one sentence for what is none."""

from __future__ import annotations

import pytest

from cqc.importers.eql.parse import EqlError, parse
from cqc.importers.eql.syntax import (
    AllOf,
    AnyOf,
    Arithmetic,
    Call,
    Compared,
    EventQuery,
    Field,
    Key,
    Literal,
    Matched,
    Negated,
    OneOf,
    Sequence,
)


def condition(text: str) -> object:
    [query] = parse(f"any where {text}")
    assert isinstance(query, EventQuery)
    return query.condition


def test_and_binds_closer_than_or_and_not_closest() -> None:
    a, b, c = (Field(name) for name in "abc")
    assert condition("a or b and not c") == AnyOf((a, AllOf((b, Negated(c)))))
    assert condition("not a == 1") == Negated(Compared("==", a, Literal(1)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\"b\\c\n"', 'a"b\\c\n'),
        (r'"\u{e9}\u00e9"', "éé"),
        (r'"""C:\x "y" """', 'C:\\x "y" '),
        ("'old'", "old"),
        ("-3", -3),
        ("2.5", 2.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
    ],
)
def test_literals(text: str, value: object) -> None:
    assert condition(f"x == {text}") == Compared("==", Field("x"), Literal(value))  # type: ignore[arg-type]


def test_names_may_be_quoted_nested_and_optional() -> None:
    assert condition("`my-field`.x == 1") == Compared("==", Field("my-field.x"), Literal(1))
    assert condition("?index.order == 1") == Compared("==", Field("index.order"), Literal(1))


def test_operators() -> None:
    x, texts = Field("x"), (Literal("a*"), Literal("b"))
    assert condition('x : ("a*", "b")') == Matched("seems", True, x, texts)
    assert condition('x like~ "b"') == Matched("like", True, x, (Literal("b"),))
    assert condition('x regex "b"') == Matched("regex", False, x, (Literal("b"),))
    assert condition("x not in (1, 2)") == Negated(OneOf(False, x, (Literal(1), Literal(2))))
    assert condition('endsWith~(x, "b")') == Call("endsWith", True, (x, Literal("b")))
    assert condition("x + 1 * 2 > 3") == Compared(
        ">", Arithmetic("+", x, Arithmetic("*", Literal(1), Literal(2))), Literal(3)
    )


def test_a_sequence_has_keys_span_runs_absence_and_an_end() -> None:
    [found] = parse(
        "/* all of it */ sequence by a, ?b with maxspan=500ms\n"
        "[file where true] by c with runs=3  // thrice\n"
        "![any where true] by d\n"
        "until [process where x == 1] by e"
    )
    assert isinstance(found, Sequence)
    assert found.span_us == 500_000
    assert [(step.runs, step.is_absent) for step in found.steps] == [(3, False), (1, True)]
    shared = (Key("a", False), Key("b", True))
    assert found.steps[0].keys == (*shared, Key("c", False))
    assert found.until is not None
    assert found.until.keys == (*shared, Key("e", False))


def test_semicolons_separate_queries() -> None:
    assert len(parse("file where true; any where x == 1;")) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it ends too early"),
        ("process where", "it ends too early"),
        ("process where (a == 1", "it ends too early"),
        ("process like a", "'like' cannot stand in line 1, column 9"),
        ("any where\n a = 1", "'=' cannot stand in line 2, column 4"),
        ("any where true | head 5", "the pipe `| head` asks for a part"),
        ("any where true | unique a, b | filter c == 1", "the pipe `| unique`"),
        ("sample by a [b where true] [c where true]", "`sample` has no order"),
        ("sequence with maxspan=1s [a where true] with runs=0", "runs is at least 1"),
        ("sequence with maxspan=10nanos [a where true] [b where true]", "less than a microsecond"),
    ],
)
def test_what_cannot_be_read_or_said_has_a_sentence(text: str, reason: str) -> None:
    with pytest.raises(EqlError) as error:
        parse(text)
    assert reason in str(error.value)
