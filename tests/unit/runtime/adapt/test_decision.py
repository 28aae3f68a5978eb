from __future__ import annotations

from cqc.runtime.adapt.decision import Decision, counted, figure


def test_a_decision_is_told_with_its_figures() -> None:
    tree = Decision("join0", "runs as the tree ((a b) c)", "flat", 0.482, 2560, is_measured=True)
    assert tree.sentence == (
        "join0 runs as the tree ((a b) c): 0.48 of the cost of flat, measured over 2,560 tuples"
    )


def test_what_was_not_measured_yet_is_called_expected() -> None:
    side = Decision(
        "filters(s)", "answers from the packet index", "the other", 0.5, note="1 change"
    )
    assert side.sentence == (
        "filters(s) answers from the packet index: 0.5 of the cost of the other, expected; 1 change"
    )


def test_a_decision_without_figures_is_a_plain_sentence() -> None:
    assert (
        Decision("s", "comes in packets of 8 tuples").sentence == "s comes in packets of 8 tuples"
    )


def test_numbers_are_for_people() -> None:
    assert [counted(number, "change") for number in (0, 1, 2)] == [
        "0 changes",
        "1 change",
        "2 changes",
    ]
    assert [figure(number) for number in (0.0123, 4.56, 5_800.4)] == ["0.012", "4.6", "5,800"]
