r"""The commands of the shell itself: a backslash, a word, and the rest of the line."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cqc.cli.shell.entered_text import WORDS as PLAIN
from cqc.cli.shell.entered_text import is_command, split_statements
from cqc.cli.shell.session import ShellError, Table
from cqc.cli.tables import aligned
from cqc.compiler.diagnostics.diagnostic import printable
from cqc.compiler.diagnostics.suggest import closest

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.cli.shell.session import Session

HELP = {
    "\\d [NAME]": "what there is, or what one stream, table or query is",
    "\\run NAME": "the results of a query that has a name",
    "\\plan QUERY": "how a query (its name or text) is answered",
    "\\drop NAME": "forget a query",
    "\\bind NAME=PATH": "read a stream or table from a file or folder",
    "\\i FILE": "take the statements of a file",
    "\\limit N|all": "how many rows of an answer are shown",
    "\\timing": "say how long each statement took, or no more",
    "\\x": "one column a line, or no more",
    "\\? [CODE]": "this list, or the page of an error code",
    "\\q": "leave (Ctrl-D too)",
}
WORDS = tuple(usage.split()[0] for usage in HELP)


@dataclass
class Shell:
    """A session, and how its answers are shown.

    Args:
        session: what statements are given to.
        limit: how many rows of an answer are shown; None is all.
        echo: where answers go.
    """

    session: Session
    limit: int | None
    echo: Callable[[str], None] = click.echo
    timing: bool = False
    by_line: bool = False
    is_over: bool = False

    def take(self, text: str) -> None:
        """Do what was entered: statements, or one command.

        Raises:
            CompileError, RunError, click.ClickException: for the first that cannot be done; the rest is left.
        """
        stripped = text.strip()
        if is_command(text):
            self._command(PLAIN.get(stripped.rstrip(";").lower(), stripped))
            return
        for statement in split_statements(text):
            self._timed(partial(self.session.execute, statement, self.limit))

    def _timed(self, work: Callable[[], Table | str]) -> None:
        started = time.perf_counter()
        found = work()
        took_ms = (time.perf_counter() - started) * 1000
        self.show(found)
        if self.timing:
            self.echo(f"Time: {took_ms:,.1f} ms")

    def show(self, found: Table | str) -> None:
        """Show an answer."""
        if isinstance(found, str):
            self.echo(found)
            return
        if found.rows and self.by_line:
            self._show_by_line(found)
        elif found.titles:
            self.echo("\n".join(aligned(found.titles, found.rows, found.right)))
        count = len(found.rows) + found.more
        shown = f"({count:,} {'row' if count == 1 else 'rows'}"
        if found.more:
            shown += f", {len(found.rows):,} shown; \\limit all shows the rest"
        self.echo(f"{shown})" + (f" {found.note}" if found.note else ""))

    def _show_by_line(self, found: Table) -> None:
        wide = max(map(len, found.titles))
        for number, row in enumerate(found.rows, 1):
            self.echo(f"-- {number:,}")
            for title, text in zip(found.titles, row, strict=True):
                self.echo(f"{printable(title).ljust(wide)}  {printable(text)}")

    def _command(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        rest = rest.strip().rstrip(";").strip()
        match word.rstrip(";"):
            case "\\q" | "\\quit" | "\\exit":
                self.is_over = True
            case "\\d" | "\\dt":
                self.show(self.session.describe(rest or None))
            case "\\run" | "\\watch":
                name = _wanted(rest, "\\run NAME")
                self._timed(lambda: self.session.run(name, self.limit))
            case "\\plan":
                self.echo(self.session.plan(_wanted(rest, "\\plan QUERY")).rstrip())
            case "\\drop":
                self.echo(self.session.drop(_wanted(rest, "\\drop NAME")))
            case "\\bind":
                name, _, path = rest.partition("=")
                if not (name and path):
                    raise ShellError("\\bind NAME=PATH")
                self.echo(self.session.bind(name.strip(), path.strip()))
            case "\\i":
                self._include(Path(_wanted(rest, "\\i FILE")))
            case "\\limit":
                self._set_limit(rest)
            case "\\timing":
                self.timing = _switched(self.timing, rest)
                self.echo(f"timing is {'on' if self.timing else 'off'}")
            case "\\x":
                self.by_line = _switched(self.by_line, rest)
                self.echo(f"one column a line is {'on' if self.by_line else 'off'}")
            case "\\?" | "\\h" | "\\help":
                self.echo(_help(rest))
            case unknown:
                meant = closest(unknown, WORDS)
                hint = "" if meant is None or len(unknown) < 3 else f" Did you mean `{meant}`?"
                raise ShellError(f"there is no command {unknown}.{hint} \\? lists them.")

    def _include(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise ShellError(f"cannot read {path}: {reason}") from error
        self.take(text)

    def _set_limit(self, text: str) -> None:
        if text and text != "all" and not (text.isascii() and text.isdigit() and int(text)):
            raise ShellError("\\limit takes a number of rows, or all")
        if text:
            self.limit = None if text == "all" else int(text)
        self.echo(f"limit is {'all' if self.limit is None else self.limit}")


def _wanted(text: str, usage: str) -> str:
    if not text:
        raise ShellError(usage)
    return text


def _switched(now: bool, text: str) -> bool:
    return {"on": True, "off": False}.get(text.lower(), not now)


def _help(code: str) -> str:
    if code:
        from cqc.compiler.diagnostics.errors_catalogue import page

        found = page(code.upper())
        if found is None:
            raise ShellError(f"there is no error code {code}")
        return found.rstrip()
    wide = max(map(len, HELP))
    lines = [f"{usage.ljust(wide)}  {what}" for usage, what in HELP.items()]
    return "\n".join(["Statements end with `;` and may take several lines.", *lines])
