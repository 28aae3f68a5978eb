"""A case that failed, in words: expected and got, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.runtime.cases.run_case import Failure, Outcome

LEAST_COLUMN, MOST_COLUMN = 20, 60
MOST_ROWS = 40
EXPECTED, GOT = "expected", "got"


def describe(outcome: Outcome, width: int = 100) -> str:
    """What went wrong, one block for each step that came out otherwise."""
    lines = [f"{outcome.case.path}:{outcome.case.line} {outcome.case.title}"]
    for failure in outcome.failures:
        lines += failure_lines(failure, width)
    return "\n".join(lines)


def failure_lines(failure: Failure, width: int) -> list[str]:
    place = "" if failure.step is None else f" (line {failure.step.line})"
    first, *more = failure.what.splitlines()
    if not failure.pairs:
        return [f"  {first}{place}", *(f"    {line}" for line in more)]
    missing = sum(got is None for _, got in failure.pairs)
    extra = sum(expected is None for expected, _ in failure.pairs)
    counts = f"{len(failure.expected)} expected, {len(failure.got)} got"
    wrong = ", ".join(
        text
        for text, number in ((f"{missing} missing", missing), (f"{extra} not expected", extra))
        if number
    )
    head = f"  {first}{place}: {counts}" + (f" ({wrong})" if wrong else " (another order)")
    return [head, *_table(failure, width)]


def _table(failure: Failure, width: int) -> Iterator[str]:
    longest = max(map(len, (EXPECTED, *failure.expected)))
    column = max(LEAST_COLUMN, min(longest, max(MOST_COLUMN, width // 2 - 6)))
    yield f"      {EXPECTED:{column}}  {GOT}"
    for expected, got in failure.pairs[:MOST_ROWS]:
        left = "" if expected is None else failure.expected[expected]
        right = "" if got is None else failure.got[got]
        mark = "-" if got is None else "+" if expected is None else " " if left == right else "!"
        yield f"    {mark} {_cut(left, column):{column}}  {right}".rstrip()
    if len(failure.pairs) > MOST_ROWS:
        yield f"      ... and {len(failure.pairs) - MOST_ROWS} more rows"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
