from pathlib import Path

from cqc.runtime.cases.case_file import read_cases
from cqc.runtime.cases.run_case import Failure, Outcome
from cqc.runtime.cases.update import update_file

TEXT = """\
=== one
SELECT x FROM s;
--- results q1
1 | a
# why

=== two
SELECT x FROM s;
--- columns q1
x
"""


def test_only_the_rows_of_steps_that_differ_change(tmp_path: Path) -> None:
    path = tmp_path / "a.cqt"
    path.write_text(TEXT)
    one, two = read_cases(path)
    changed = Outcome(one, [Failure(one.steps[0], "x", ("1 | a",), ("2 | b", "3 | c"))])
    wider = Outcome(two, [Failure(two.steps[0], "x", ("x",), ("x", "y"))])
    assert update_file(path, [changed, wider]) == 2
    expected = TEXT.replace("1 | a\n", "2 | b\n3 | c\n").replace("q1\nx\n", "q1\nx | y\n")
    assert path.read_text() == expected


def test_errors_are_left_to_people(tmp_path: Path) -> None:
    path = tmp_path / "a.cqt"
    path.write_text(TEXT)
    (case, _) = read_cases(path)
    assert update_file(path, [Outcome(case, [Failure(None, "does not compile")])]) == 0
    assert path.read_text() == TEXT
