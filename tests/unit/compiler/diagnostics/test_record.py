"""Records are plain objects with the equality and the hash of their fields."""

import pickle
from dataclasses import field, replace

from cqc.compiler.diagnostics.record import record
from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.meaning.bound import Literal
from cqc.compiler.meaning.types import ColumnType


@record
class Sample:
    text: str
    place: int = field(compare=False, default=0)


def test_equal_fields_make_equal_records_with_one_hash() -> None:
    assert Sample("a", 1) == Sample("a", 2) != Sample("b", 1)
    assert len({Sample("a", 1), Sample("a", 2), Sample("b", 1)}) == 2


def test_a_record_has_slots_can_be_replaced_and_is_pickled() -> None:
    sample = replace(Sample("a", 1), text="b")
    assert not hasattr(sample, "__dict__")
    assert pickle.loads(pickle.dumps(sample)) == sample


def test_a_record_keeps_the_equality_and_the_hash_it_defines() -> None:
    span = Span(SourceFile("s", ""), 0, 0)
    whole, double = Literal(1, ColumnType.BIGINT, span), Literal(1.0, ColumnType.DOUBLE, span)
    nan = Literal(float("nan"), ColumnType.DOUBLE, span)
    assert whole != double
    assert len({whole, double, nan, Literal(float("nan"), ColumnType.DOUBLE, span)}) == 3
