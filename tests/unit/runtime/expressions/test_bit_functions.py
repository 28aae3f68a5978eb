"""Bits and number bases; random calls are compared in `tests/property/test_functions.py` and by Spark."""

import pytest

from cqc.runtime.expressions.bit_functions import based
from cqc.runtime.expressions.row_by_row import FAILED


@pytest.mark.parametrize(
    ("number", "source", "target", "written"),
    [
        ("100", 2, 10, "4"),
        ("-10", 16, -10, "-16"),
        ("-10", 16, 10, "18446744073709551600"),
        ("zz", 10, 16, "0"),
        (" 12", 10, 16, "C"),
        ("1.5", 10, 16, "1"),
        ("18446744073709551615", 10, 16, "FFFFFFFFFFFFFFFF"),
        ("-18446744073709551615", 10, -10, "-1"),
        ("ß", 36, 10, "0"),
        ("", 10, 16, None),
        ("12", 37, 10, None),
    ],
)
def test_a_number_is_written_to_another_base_as_spark_does(
    number: str, source: int, target: int, written: str | None
) -> None:
    assert based(number, source, target) == written


def test_more_than_64_bits_is_a_failure() -> None:
    assert based("18446744073709551616", 10, 16) is FAILED
