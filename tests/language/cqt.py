"""The `.cqt` format: a program, input rows, expected rows. One file per section of the language's definition.

    declare
    CREATE STREAM s (ts BIGINT, x BIGINT);

    === WHERE keeps TRUE only
    SELECT x FROM s WHERE x > 1;
    --- input s
    1 | 1
    2 | 2
    3 | NULL
    --- results q1
    2 | 2

A file may begin with declarations that all its cases share. A case is a title, the rest of its program, and steps in the
order in which they happen:

    --- input NAME [(columns)]         rows that arrive; columns left out are NULL
    --- register / --- unregister NAME a query comes (as CREATE QUERY .. AS ..) or goes
    --- invoke NAME [at INSTANT]       a pull query is asked, and these rows are its answer
    --- results NAME                   what a push or EVERY query delivers in all: `time | values`,
                                       or of an alert `time | state | since | count | values`
    --- columns NAME                   the names of a query's outputs
    --- error CODE [line:column]       the program must be refused with it
    --- warning CODE                   the program compiles and is warned about
    --- fails register CODE            registering the text below is refused

Values are separated by `|`. Text needs quotes only where it is empty, has spaces at its ends or a `|`, or reads NULL. A
TIMESTAMP is ISO text, or `hh:mm:ss` for that time of 2024-01-01. `results` and `invoke` compare rows as a multiset;
`ordered` after the name compares their order too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TITLE = "=== "
STEP = "--- "
STEP_LINE = re.compile(
    r"(?P<kind>input|register|unregister|invoke|results|columns|error|warning|fails register)"
    r"(?:\s+(?P<name>[^\s(]+))?(?:\s+\((?P<columns>[^)]*)\))?(?:\s+at\s+(?P<at>[^#]+?))?"
    r"(?:\s+(?P<place>\d+:\d+))?(?P<ordered>\s+ordered)?"
)


@dataclass(frozen=True)
class Step:
    """One `---` block: what it says on its line, and the lines below it."""

    kind: str
    name: str
    lines: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    at: str | None = None
    place: str | None = None
    ordered: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells of each line, as written."""
        return [tuple(split_cells(line)) for line in self.lines if line.strip()]


@dataclass(frozen=True)
class LanguageCase:
    """One case of a file."""

    file: str
    title: str
    line: int
    declarations: str
    program: str
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        return f"{self.declarations}{self.program}"

    def of_kind(self, kind: str) -> list[Step]:
        return [step for step in self.steps if step.kind == kind]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.title}"


def read_cases(path: Path) -> list[LanguageCase]:
    """All cases of a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith(TITLE)]
    head = [line for line in lines[: starts[0]] if not line.startswith("#")]
    declarations = "\n".join(line for line in head if line.strip() != "declare").strip()
    declarations += "\n" if declarations else ""
    cases = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        body = lines[start + 1 : end]
        cases.append(read_case(path.name, lines[start], start + 1, declarations, body))
    return cases


def read_case(
    file: str, title: str, line: int, declarations: str, body: Sequence[str]
) -> LanguageCase:
    blocks = list(split_blocks(body))
    program = "\n".join(blocks[0]).strip() + "\n"
    steps = tuple(read_step(file, block) for block in blocks[1:])
    return LanguageCase(file, title.removeprefix(TITLE).strip(), line, declarations, program, steps)


def split_blocks(body: Sequence[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in body:
        if line.startswith(STEP):
            yield block
            block = []
        if not line.startswith("#"):
            block.append(line)
    yield block


def read_step(file: str, block: Sequence[str]) -> Step:
    match = STEP_LINE.fullmatch(block[0].removeprefix(STEP).strip())
    if match is None:
        raise ValueError(f"{file}: cannot read `{block[0]}`")
    columns = match["columns"]
    return Step(
        match["kind"],
        match["name"] or "",
        tuple(line for line in block[1:] if line.strip()),
        None if columns is None else tuple(part.strip() for part in columns.split(",")),
        match["at"],
        match["place"],
        ordered=bool(match["ordered"]),
    )


def split_cells(line: str) -> Iterator[str]:
    """The cells of a line; a `|` inside single quotes is text."""
    cell = ""
    quoted = False
    for character in line:
        if character == "'":
            quoted = not quoted
        if character == "|" and not quoted:
            yield cell.strip()
            cell = ""
        else:
            cell += character
    yield cell.strip()
