"""The shell as a loop: at a terminal with prompt_toolkit, from a pipe line by line."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cqc.cli.report import show_diagnostics
from cqc.cli.shell.entered_text import is_whole
from cqc.compiler.diagnostics.diagnostic import CompileError
from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import private_folder, private_opener

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prompt_toolkit import PromptSession

    from cqc.cli.shell.commands import Shell

FAILED = 1
_FIRST = "cq> "
MISSING = (
    "an interactive shell needs the package prompt_toolkit: pip install 'cqc[terminal]'."
    " Statements on standard input need nothing: cqc shell < FILE"
)


def pipe_loop(shell: Shell, lines: Iterable[str]) -> int:
    """Take what comes on standard input; what fails is reported, and the rest goes on. The exit code says whether all went well."""
    failed = False
    for entered in _whole(lines):
        failed |= not _taken(shell, entered)
        if shell.is_over:
            break
    return FAILED if failed else 0


def _whole(lines: Iterable[str]) -> Iterator[str]:
    """Lines put together until they are a whole statement; what is left at the end counts as one."""
    held = ""
    for line in lines:
        held += line
        if held.strip() and is_whole(held):
            yield held
            held = ""
    if held.strip():
        yield held


def _taken(shell: Shell, text: str) -> bool:
    """Do what was entered, and say what is wrong with it. Returns whether it was done."""
    try:
        shell.take(text)
    except CompileError as error:
        show_diagnostics(error.diagnostics)
    except RunError as error:
        click.echo(f"error: {error}", err=True)
    except click.ClickException as error:
        _show(error)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        place = "" if error.filename is None else f"{error.filename}: "
        click.echo(f"error: {place}{error.strerror}", err=True)
    else:
        return True
    return False


def _show(error: click.ClickException) -> None:
    from cqc.cli.service_connection import ServiceError

    if isinstance(error, ServiceError):
        error.show()
    else:
        click.echo(f"error: {error.message}", err=True)


def terminal_loop(shell: Shell) -> int:
    """Talk with a person until they leave.

    Raises:
        click.UsageError: when prompt_toolkit is missing.
    """
    try:
        from cqc.cli.shell.prompt import make_prompt
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "prompt_toolkit":
            raise
        raise click.UsageError(MISSING) from error
    prompt: PromptSession[str] = make_prompt(shell.session, history_file())
    shell.echo("Statements end with `;`. \\? for help, \\q to leave.")
    while not shell.is_over:
        try:
            text = prompt.prompt(_FIRST)
        except KeyboardInterrupt:
            continue  # what was typed is given up
        except EOFError:
            break
        with suppress(KeyboardInterrupt):
            _taken(shell, text)
    return 0


def history_file() -> Path | None:
    """Where entered statements are remembered, for this user alone; None where there is no such place."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    path = Path(base) / "cqc" / "history"
    try:
        private_folder(path.parent)
        with open(path, "ab", opener=private_opener):
            pass
    except OSError:
        return None
    return path
