"""The PROGRAM arguments that all commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.compiler.source import SourceFile

program_argument = click.argument("programs", metavar="PROGRAM...", nargs=-1, required=True)


def read_sources(programs: tuple[str, ...]) -> list[tuple[SourceFile, str]]:
    """The files that the arguments name, each with the folder its relative paths start from.

    Raises:
        click.UsageError: when a file does not exist or a folder holds no programs (exit code 2).
    """
    from cqc.compiler.source import SourceFile

    found: list[tuple[SourceFile, str]] = []
    for name in programs:
        if name == "-":
            found.append((SourceFile("<stdin>", read_text(sys.stdin.buffer.read(), "<stdin>")), "."))
            continue
        for path in files_of(Path(name)):
            try:
                data = path.read_bytes()
            except OSError as error:
                raise click.UsageError(f"cannot read {path}: {error.strerror}") from error
            found.append((SourceFile(str(path), read_text(data, str(path))), str(path.parent)))
    return found


def files_of(path: Path) -> list[Path]:
    """The program files that one argument stands for, a folder's in name order."""
    if path.is_dir():
        files = sorted(path.glob("*.cq"))
        if not files:
            raise click.UsageError(f"no .cq file in the folder {path}")
        return files
    if not path.exists():
        raise click.UsageError(f"no such program file: {path}")
    return [path]


def read_text(data: bytes, name: str) -> str:
    """A program's text; a file that is not UTF-8 is wrong usage."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{name} is not UTF-8 text (byte {error.start})") from error


def load_program(programs: tuple[str, ...]) -> Program:
    """Compile what the arguments name and show its warnings.

    Raises:
        CompileError: when the program has errors.
    """
    from cqc.cli.report import show_diagnostics
    from cqc.compiler import compile_sources

    program = compile_sources(read_sources(programs))
    show_diagnostics(program.warnings)
    return program
