import pytest

from cqc.compiler.diagnostics.suggest import closest, did_you_mean, edit_distance


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "acb", 1), ("ab", "abcd", 2)],
)
def test_edits_and_exchanges_are_counted(left: str, right: str, distance: int) -> None:
    assert edit_distance(left, right, 5) == distance
    assert edit_distance(right, left, 5) == distance


def test_a_distance_over_the_limit_is_cut_short() -> None:
    assert edit_distance("kitten", "sitting", 2) == 3
    assert edit_distance("a", "abcdefgh", 2) == 3


@pytest.mark.parametrize(
    ("word", "expected"),
    [("presure", "pressure"), ("PRESSURE", "pressure"), ("tepm", "temp"), ("t", "ts"), ("q", None)],
)
def test_the_closest_name_is_found_and_far_ones_are_not(word: str, expected: str | None) -> None:
    assert closest(word, ["ts", "pressure", "temp"]) == expected


def test_a_name_of_one_other_letter_is_not_a_spelling_mistake() -> None:
    assert closest("x", ["y", "z"]) is None


def test_the_hint_names_the_candidate_as_declared() -> None:
    assert did_you_mean("PRESURE", ["Pressure"]) == "Did you mean `Pressure`?"
    assert did_you_mean("colour", ["Pressure"]) is None
