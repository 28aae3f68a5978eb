"""Every letter of a pattern, as Spark writes it."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.meaning.times.date_formats import format_pieces
from cqc.runtime.expressions.times.format_times import format_times

AT = 1_706_969_106_789_012  # 2024-02-03T14:05:06.789012Z
FORMS = {
    "yyyy y yy yyyyy": "2024 2024 24 02024",
    "M MM MMM MMMM L LLLL": "2 02 Feb February 2 February",
    "D DDD Q QQ QQQ QQQQ": "34 034 1 01 Q1 1st quarter",
    "E EEEE F G GGGG": "Sat Saturday 3 AD Anno Domini",
    "a h hh K KK k H HH": "PM 2 02 2 02 14 14 14",
    "m mm s ss S SSS SSSSSSSSS": "5 05 6 06 7 789 789012000",
    "VV z zzzz O X XXX x xxx Z ZZZZ ZZZZZ": "UTC UTC Coordinated Universal Time GMT Z Z +00 +00:00 +0000 GMT Z",
    "'it''s' [yyyy]": "it's 2024",
    "": "",
}


@pytest.mark.parametrize("pattern", FORMS)
def test_a_pattern_is_written_as_spark_does(pattern: str) -> None:
    made = format_times(pattern, np.array([AT, AT]))
    assert made is not None
    assert made.to_pylist() == [FORMS[pattern]] * 2


def test_years_beyond_four_digits_have_a_sign() -> None:
    made = format_times("yyyy-MM-dd G y yy", np.array([-62_200_000_000_000_000]))
    assert made is not None
    assert made.to_pylist() == ["0003-12-17 BC 3 03"]
    made = format_times("yyyy yyyyy", np.array([263_402_300_800_000_000]))
    assert made is not None
    assert made.to_pylist() == ["+10316 10316"]


@pytest.mark.parametrize("pattern", ["u", "w", "Y", "dd{", "EEEEE", "ddd", "aa", "n", "'abc"])
def test_what_spark_refuses_is_no_pattern(pattern: str) -> None:
    assert isinstance(format_pieces(pattern), str)
