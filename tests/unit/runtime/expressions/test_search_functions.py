"""Places and parts of texts."""

from cqc.runtime.expressions.row_by_row import FAILED
from cqc.runtime.expressions.search_functions import piece
from tests.unit.runtime.expressions.calls import evaluate


def test_an_empty_part_is_at_the_first_place_wherever_one_starts() -> None:
    found = evaluate("locate(u, t, i)", u=["", "b", "b"], t=["abc", "abcb", "abc"], i=[5, 3, 0])
    assert found == ([1, 4, 0], 0)


def test_parts_are_counted_from_either_end() -> None:
    assert piece("a.b.c", ".", 2) == "b"
    assert piece("a.b.c", ".", -1) == "c"
    assert piece("a.b.c", ".", 9) == ""
    assert piece("a.b", "", -1) == "a.b"
    assert piece("a", ".", 0) is FAILED
