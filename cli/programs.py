"""The PROGRAM arguments that all commands share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cqc.cli.interrupts import loading

if TYPE_CHECKING:
    from types import TracebackType

    from cqc.compiler import Program
    from cqc.compiler.diagnostics.source import SourceFile

STANDARD_INPUT = "<stdin>"


def load_module(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> None:
    """Run Python files that register functions and sources, before anything is compiled.

    Raises:
        click.UsageError: when one cannot be read, or fails.
    """
    del context, parameter
    import runpy

    for path in values:
        with _Loading(path):
            runpy.run_path(path, run_name="cqc_load")


class _Loading:
    """Makes a sentence of whatever a user's file raises."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError) and error.filename == self._path:
            raise click.UsageError(f"cannot read {self._path}: {error.strerror}") from error
        if isinstance(error, Exception):
            raise click.UsageError(
                f"--load {self._path}: {type(error).__name__}: {error}"
            ) from error


load_option = click.option(
    "--load",
    multiple=True,
    metavar="FILE.py",
    callback=load_module,
    expose_value=False,
    is_eager=True,
    help="Run this Python file first; it registers functions (cqc.function) and sources (cqc.source).",
)


def take_values(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> None:
    """Give parameters other values than their defaults, before anything is compiled.

    Raises:
        click.UsageError: for something else than NAME=VALUE.
    """
    del context, parameter
    from cqc.compiler.parameters.given import forget, give

    forget()
    for each in values:
        name, sign, text = each.partition("=")
        name = name.strip().removeprefix(":")
        if not sign or not name.isidentifier():
            raise click.UsageError(f"--set takes NAME=VALUE, not {each!r}")
        give(name, text)


set_option = click.option(
    "--set",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    callback=take_values,
    expose_value=False,
    is_eager=True,
    help="Another value for a parameter that the program declares (`SET :NAME = ...;`); may be repeated.",
)
_programs = click.argument("programs", metavar="PROGRAM...", nargs=-1, required=True)


def program_argument(command: Any) -> Any:  # Any: click's decorators are untyped here
    """The programs that a command takes, and what is loaded before them."""
    return _programs(load_option(set_option(command)))


def plain_program_argument(command: Any) -> Any:
    """The same for a command that only looks at the text of programs."""
    return _programs(load_option(command))


def read_sources(programs: tuple[str, ...]) -> list[tuple[SourceFile, str]]:
    """The files that the arguments name, each once, with the folder its relative paths start from.

    Raises:
        click.UsageError: when a file does not exist or a folder holds no programs (exit code 2).
    """
    with loading():
        from cqc.compiler.embed import decode_source

    found: dict[str, tuple[SourceFile, str]] = {}
    for name in programs:
        if name == "-":
            if name not in found:
                found[name] = decode_source(STANDARD_INPUT, sys.stdin.buffer.read()), "."
            continue
        for path in files_of(Path(name)):
            key = str(path.absolute())
            if key not in found:
                found[key] = decode_source(str(path), _read(path)), str(path.parent)
    return list(found.values())


def files_of(path: Path) -> list[Path]:
    """The program files that one argument stands for, a folder's in name order."""
    from cqc.compiler.meaning.source_formats import FILE_OF_ENDING

    try:
        if path.is_dir():
            files = sorted(file for file in path.glob("*.cq") if not file.is_dir())
            if not files:
                raise click.UsageError(f"no .cq file in the folder {path}")
            return files
        if not path.exists():
            raise click.UsageError(f"no such program file: {path}")
        if path.suffix.lower() in FILE_OF_ENDING:
            raise click.UsageError(
                f"{path} is data, not a program: name the .cq file that declares its stream, with --bind NAME={path}"
            )
    except OSError as error:
        raise click.UsageError(f"cannot read {path}: {error.strerror}") from error
    return [path]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise click.UsageError(f"cannot read {path}: {error.strerror}") from error


def load_program(programs: tuple[str, ...]) -> Program:
    """Compile what the arguments name and show its warnings.

    Raises:
        CompileError: when the program has errors.
    """
    return _compiled(read_sources(programs))


def load_again(
    programs: tuple[str, ...], checkpoint: str | None, *, is_live: bool
) -> tuple[Program, list[tuple[SourceFile, str]]]:
    """The same, with what was compiled. Folders with errors are reported, and what ran before goes on.

    Args:
        programs: the arguments.
        checkpoint: the folder that remembers what ran.
        is_live: whether the program may change while it runs.

    Raises:
        CompileError: when the program has errors, and nothing ran before.
    """
    from cqc.compiler import CompileError

    sources = read_sources(programs)
    try:
        return _compiled(sources, is_live=is_live), sources
    except CompileError as error:
        kept = _kept(checkpoint) if is_live and any(map(os.path.isdir, programs)) else None
        if kept is None:
            raise
        from cqc.runtime.run.live_programs import refuse

        refuse(str(error))
        return kept


def _kept(checkpoint: str | None) -> tuple[Program, list[tuple[SourceFile, str]]] | None:
    """The program that a checkpoint remembers, if there is one and it still compiles."""
    from cqc.compiler import CompileError, compile_sources
    from cqc.runtime.run.durable.program_book import kept_program

    sources = None if checkpoint is None else kept_program(Path(checkpoint))
    if sources is None:
        return None
    try:
        return compile_sources(sources), sources
    except CompileError:
        return None


def _compiled(sources: list[tuple[SourceFile, str]], *, is_live: bool = False) -> Program:
    from cqc.cli.interrupts import no_garbage
    from cqc.cli.report import show_diagnostics
    from cqc.compiler import compile_sources
    from cqc.compiler.idle_check import idle_warnings

    with no_garbage():
        program = compile_sources(sources)
    known = {each.span for each in program.warnings if each.code == "CQ088"}
    followed = []
    if is_live:
        nodes = program.graph.queries.values()
        followed = idle_warnings(program.catalog, nodes, follows_all=True)
    more = [each for each in followed if each.span not in known]
    show_diagnostics((*program.warnings, *more))
    return program
