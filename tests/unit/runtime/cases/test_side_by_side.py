from cqc.runtime.cases.case_file import Step
from cqc.runtime.cases.run_case import Failure
from cqc.runtime.cases.side_by_side import failure_lines


def test_rows_are_side_by_side_and_marked() -> None:
    step = Step("results", "q", (), line=4)
    failure = Failure(step, "results of q", ("1 | a", "2 | b"), ("1 | a",), ((0, 0), (1, None)))
    head, titles, same, missing = failure_lines(failure, 80)
    assert head == "  results of q (line 4): 2 expected, 1 got (1 missing)"
    assert titles.split() == ["expected", "got"]
    assert same.split() == ["1", "|", "a", "1", "|", "a"]
    assert missing == "    - 2 | b"


def test_many_rows_are_cut() -> None:
    rows = tuple(map(str, range(100)))
    failure = Failure(None, "x", rows, (), tuple((at, None) for at in range(100)))
    assert failure_lines(failure, 80)[-1].strip() == "... and 60 more rows"
