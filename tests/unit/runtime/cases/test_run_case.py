from pathlib import Path

from cqc.runtime.cases.case_file import read_cases
from cqc.runtime.cases.executor import EngineExecutor
from cqc.runtime.cases.run_case import Outcome, run_case

TEXT = """\
declare
CREATE STREAM s (ts BIGINT, id STRING FROM 'Event.Id', x BIGINT);
=== one
CREATE QUERY q AS SELECT id FROM s WHERE x > 1;
CREATE QUERY silent AS SELECT id FROM s WHERE x > 99;
--- input s
1 | a | 2
{"ts": 2, "Event": {"Id": "b"}, "x": 3}
--- results q
1 | a
2 | b
--- columns q
id
"""


def run(folder: Path, text: str = TEXT) -> Outcome:
    path = folder / "a.cqt"
    path.write_text(text)
    (case,) = read_cases(path)
    return run_case(case, lambda program, seed: EngineExecutor(program, seed=seed))


def test_what_comes_out_is_compared_and_noted(tmp_path: Path) -> None:
    outcome = run(tmp_path)
    assert outcome.passed, outcome.failures
    assert outcome.fired == {"q"}
    assert set(outcome.queries) == {"q", "silent"}


def test_a_failure_knows_its_step_and_both_sides(tmp_path: Path) -> None:
    (failure,) = run(tmp_path, TEXT.replace("2 | b", "2 | c")).failures
    assert failure.step is not None
    assert (failure.step.kind, failure.step.line) == ("results", 9)
    assert (failure.expected, failure.got) == (("1 | a", "2 | c"), ("1 | a", "2 | b"))
    assert failure.pairs == ((0, 0), (1, None), (None, 1))


def test_warnings_count_when_they_are_named(tmp_path: Path) -> None:
    (failure,) = run(tmp_path, TEXT + "--- warning CQ090\n").failures
    assert failure.what == "warnings CQ090 expected, found none"
