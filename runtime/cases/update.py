"""`cqc test --update`: the rows that came out take the place of those that were expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.cases.case_file import STEP, TITLE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cqc.runtime.cases.run_case import Failure, Outcome

COMPARED = ("results", "invoke", "columns")


def update_file(path: Path, outcomes: Sequence[Outcome]) -> int:
    """Write what came out into the file; returns how many steps changed.

    Steps that no rows can mend (an error that was expected, a program that does not compile) are left.
    """
    failures = [
        failure
        for outcome in outcomes
        for failure in outcome.failures
        if failure.step is not None and failure.step.kind in COMPARED
    ]
    if not failures:
        return 0
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    for failure in sorted(failures, key=_line, reverse=True):
        start = _line(failure)
        end = start
        while end < len(lines) and not lines[end].startswith((STEP, TITLE)):
            end += 1
        rest = [line for line in lines[start:end] if not line.strip() or line.startswith("#")]
        got = [" | ".join(failure.got)] if failure.step.kind == "columns" else failure.got  # type: ignore[union-attr]
        lines[start:end] = [*got, *rest]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(failures)


def _line(failure: Failure) -> int:
    return 0 if failure.step is None else failure.step.line
