"""Text becomes tokens that know where they are, whole or part by part."""

from __future__ import annotations

import pytest

from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax import tokens
from cqc.compiler.syntax.tokens import comments_in, tokenize, tokenize_in_parts


def test_kinds_abstract_from_names_literals_and_spelling() -> None:
    source = SourceFile(
        "test.cq", "select Price from \"T r\" where price>=12.50 and b='x' inside 6sec"
    )
    (statement,) = tokenize(source).statements
    assert " ".join(statement.kinds) == "SELECT x FROM x WHERE x < 1 AND x = '' x 1 SEC"


def test_tokens_know_their_places() -> None:
    text = " a /* ; */ 'b;''c' ;-- d;\n1.5e3ms;"
    first, second = tokenize(SourceFile("test.cq", text)).statements
    assert first.texts == ["a", "'b;''c'"]
    assert second.texts == ["1.5e3", "ms"]
    for statement in (first, second):
        for start, end, word in zip(statement.starts, statement.ends, statement.texts, strict=True):
            assert text[start:end] == word
        assert text[statement.end] == ";"


def test_comments_are_found_and_texts_that_look_alike_are_not() -> None:
    text = "a - -1 -- one\n'--' /* two */ / * \"/*\" --"
    assert [text[start:end] for start, end in comments_in(text)] == ["-- one", "/* two */", "--"]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 21, 34, 55, 200])
def test_a_file_read_in_parts_has_the_same_statements(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "SELECT 'a;''b' FROM \"x;y\"; -- c; d\n/* e; 'f */ SET g = 1;; SELECT `;` FROM h -- ;" * 3
    )
    source = SourceFile("test.cq", text)
    whole = tokenize(source).statements
    monkeypatch.setattr(tokens, "_PART", size)
    assert [each for part in tokenize_in_parts(source) for each in part.statements] == whole


@pytest.mark.parametrize("size", [5, 20, 60])
def test_mistakes_are_the_same_when_a_file_is_read_in_parts(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "SELECT a FROM s; SELECT $ FROM t; SELECT b FROM u WHERE c = 'x; \nSELECT d FROM v; SELCT"
    )
    source = SourceFile("test.cq", text)
    whole = parse(source)
    monkeypatch.setattr(tokens, "_PART", size)
    assert parse(source) == whole


def test_only_ascii_words_are_keywords() -> None:
    (statement,) = tokenize(
        SourceFile("test.cq", "\u0131n l\u0131m\u0131t \u017fet 5 \u017fec in")
    ).statements
    assert statement.kinds == ["x", "x", "x", "1", "x", "IN"]


def test_combining_marks_are_part_of_the_name_they_stand_in() -> None:
    names = ["i\u0307zmir", "e\u0301te\u0301", "\u0939\u093f\u0928\u094d\u0926\u0940"]
    (statement,) = tokenize(SourceFile("test.cq", " ".join(names))).statements
    assert statement.texts == names
    assert statement.kinds == ["x", "x", "x"]
    assert comments_in("e\u0301--\u0301") == [(2, 5)]


def test_a_mark_that_follows_no_letter_is_strange() -> None:
    found = tokenize(SourceFile("test.cq", "e\u0301 + \u0301"))
    assert found.strange == [5]


def test_a_byte_order_mark_is_white_space() -> None:
    assert parse(SourceFile("test.cq", "\ufeffSELECT a FROM s"))[1] == []


def test_names_and_numbers_that_statements_share_are_one_string() -> None:
    first, second = tokenize(SourceFile("test.cq", "SELECT abc, 1234; SELECT abc, 1234")).statements
    assert all(a is b for a, b in zip(first.texts, second.texts, strict=True))


def test_texts_of_ascii_alone_have_the_tokens_that_they_have_among_others() -> None:
    """There is a faster expression for them, which must find the same."""
    characters = [chr(code) for code in range(128)]
    pairs = [first + second for first in characters for second in characters]
    for text in (*characters, *pairs, "a1_B = 'x''y' -- c\n/* d */ \x1c e"):
        assert tokens._ASCII_TOKEN.findall(text) == tokens._TOKEN.findall(text), repr(text)
