"""Places and parts of texts."""

from cqc.runtime.expressions.row_by_row import FAILED
from cqc.runtime.expressions.search_functions import piece, place


def test_an_empty_part_is_at_the_first_place_wherever_one_starts() -> None:
    assert place("", "abc", 5) == 1
    assert place("b", "abcb", 3) == 4
    assert place("b", "abc", 0) == 0


def test_parts_are_counted_from_either_end() -> None:
    assert piece("a.b.c", ".", 2) == "b"
    assert piece("a.b.c", ".", -1) == "c"
    assert piece("a.b.c", ".", 9) == ""
    assert piece("a.b", "", -1) == "a.b"
    assert piece("a", ".", 0) is FAILED
