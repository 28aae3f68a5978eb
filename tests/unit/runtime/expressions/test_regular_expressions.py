"""What is extracted and replaced, quickly over a column and slowly for each text: the same."""

import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.regular_expressions import (
    extracted,
    never_empty,
    regexp_extract,
    regexp_replace,
    replaced,
)
from cqc.runtime.expressions.row_by_row import FAILED

TEXTS = ["bed 12", "", "x", "a-b (c)", "12 34", "é日 7"]


def constant(text: str) -> Column:
    return Column(ColumnType.STRING, pa.scalar(text))


@pytest.mark.parametrize(
    "pattern", [r"(\w+) (\d+)", r"([^ ]+)", r"(?P<n>\d)(x)?", r"[(](.)", r"\((c)"]
)
def test_a_column_is_extracted_as_each_text_is(pattern: str) -> None:
    made = regexp_extract(Column(ColumnType.STRING, pa.array(TEXTS)), constant(pattern))[0]
    assert made.to_pylist() == [extracted(text, pattern) for text in TEXTS]


@pytest.mark.parametrize("pattern", [r"\d+", "b*", "", r"([a-z])", r"\b", "a|b", "[0-9]"])
def test_a_column_is_replaced_as_each_text_is(pattern: str) -> None:
    column = Column(ColumnType.STRING, pa.array(TEXTS))
    made = regexp_replace(column, constant(pattern), constant("<$0>"))[0]
    assert made.to_pylist() == [replaced(text, pattern, "<$0>") for text in TEXTS]


def test_replacements_are_read_as_java_reads_them() -> None:
    assert replaced("abc", "(b)", "[$1]") == "a[b]c"
    assert replaced("abc", "(b)", "$12") == "ab2c"
    assert replaced("abc", "b", r"\$1") == "a$1c"
    assert replaced("abc", "b*", "-") == "-a--c-"
    assert replaced("abc", "(b)", "$2") is FAILED
    assert replaced("abc", "z", "$2") == "abc"
    assert replaced("abc", "b", "$") is FAILED


def test_only_patterns_that_surely_match_something_are_never_empty() -> None:
    assert never_empty(r"(\d+)-[a-z]")
    assert not any(map(never_empty, ["", "b*", "a|", "(a?)", r"\b", "^", "a{0}", "()", "x?"]))
