"""The `.cqt` format: a program, input rows, expected rows. `cqc test` runs such files.

    program alarms.cq

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

A file may begin with `program PATH` lines (files or folders, relative to this file) and with declarations; all its cases
share them. A case is a title, the rest of its program, and steps in the order in which they happen:

    --- input NAME [(columns)]         rows that arrive; columns left out are NULL
    --- register / --- unregister NAME a query comes (as CREATE QUERY .. AS ..) or goes
    --- invoke NAME [(columns)] [at INSTANT]   a pull query is asked, and these rows are its answer
    --- results NAME [(columns)]       what a push or EVERY query delivers in all: `time | values`,
                                       of an alert `time | state | since | count | values`
    --- columns NAME                   the names of a query's outputs
    --- error CODE [line:column]       the program must be refused with it
    --- warning CODE                   the program compiles and is warned about
    --- fails register CODE            registering the text below is refused

Values are separated by `|`. Text needs quotes only where it is empty, has spaces at its ends or a `|`, or reads NULL. A
TIMESTAMP is ISO text, or `hh:mm:ss` for that time of 2024-01-01. A line of an input that begins with `{` is a JSON object, read
as a line of a `.jsonl` file is. `results` and `invoke` compare rows as a multiset, with columns named those only; `ordered` after
the name compares their order too. Lines that begin with `#` are comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TITLE = "=== "
STEP = "--- "
PROGRAM = "program "
STEP_LINE = re.compile(
    r"(?P<kind>input|register|unregister|invoke|results|columns|error|warning|fails register)"
    r"(?:\s+(?P<name>\"[^\"]+\"|[^\s(]+))?(?:\s*\((?P<columns>[^)]*)\))?(?:\s+at\s+(?P<at>[^#]+?))?"
    r"(?:\s+(?P<place>\d+:\d+))?(?P<ordered>\s+ordered)?"
)
NAMELESS = ("register",)


class CaseError(Exception):
    """A case that cannot be read or run as it is written, in one sentence with its place."""


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
    line: int = 0  # of the file, from 1

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
    path: Path = Path()
    programs: tuple[Path, ...] = ()

    @property
    def text(self) -> str:
        return f"{self.declarations}{self.program}"

    def of_kind(self, kind: str) -> list[Step]:
        return [step for step in self.steps if step.kind == kind]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.title}"


def read_cases(path: Path) -> list[LanguageCase]:
    """All cases of a file.

    Raises:
        CaseError: when a line cannot be read, or there is no case.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise CaseError(f"{path}: not UTF-8 ({error.reason})") from error
    starts = [at for at, line in enumerate(lines) if line.startswith(TITLE)]
    if not starts:
        raise CaseError(f"{path}: no case (a case begins with `{TITLE}its title`)")
    head = [line for line in lines[: starts[0]] if not line.startswith("#")]
    named = [line.removeprefix(PROGRAM).strip() for line in head if line.startswith(PROGRAM)]
    programs = tuple(path.parent / each for each in named)
    kept = [line for line in head if not line.startswith(PROGRAM) and line.strip() != "declare"]
    declarations = "\n".join(kept).strip()
    declarations += "\n" if declarations else ""
    cases = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        blocks = list(split_blocks(lines[start + 1 : end], start + 2))
        cases.append(
            LanguageCase(
                path.name,
                lines[start].removeprefix(TITLE).strip(),
                start + 1,
                declarations,
                "\n".join(text for _, text in blocks[0]).strip() + "\n",
                tuple(read_step(path, block) for block in blocks[1:]),
                path,
                programs,
            )
        )
    return cases


def split_blocks(body: Sequence[str], first: int) -> Iterator[list[tuple[int, str]]]:
    """The blocks of a case, each line with its number in the file."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(body, first):
        if line.startswith(STEP):
            yield block
            block = []
        if not line.startswith("#"):
            block.append((number, line))
    yield block


def read_step(path: Path, block: Sequence[tuple[int, str]]) -> Step:
    number, line = block[0]
    match = STEP_LINE.fullmatch(line.removeprefix(STEP).strip())
    if match is None:
        raise CaseError(f"{path}:{number}: cannot read `{line}`")
    if match["name"] is None and match["kind"] not in NAMELESS:
        raise CaseError(f"{path}:{number}: `{line}` must say of what")
    columns = match["columns"]
    return Step(
        match["kind"],
        (match["name"] or "").strip('"'),
        tuple(text for _, text in block[1:] if text.strip()),
        None if columns is None else tuple(part.strip() for part in columns.split(",")),
        match["at"],
        match["place"],
        ordered=bool(match["ordered"]),
        line=number,
    )


def split_cells(line: str) -> Iterator[str]:
    """The cells of a line; in a cell that begins with a quote, a `|` inside quotes is text."""
    cell = ""
    quoted = False
    for character in line:
        if character == "'" and cell.lstrip()[:1] in ("", "'"):
            quoted = not quoted
        if character == "|" and not quoted:
            yield cell.strip()
            cell = ""
        else:
            cell += character
    yield cell.strip()
