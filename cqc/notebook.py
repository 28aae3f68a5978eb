"""cqc in notebooks: `%load_ext cqc` gives the cell magic `%%cq`.

    %%cq [NAME] [--push STREAM=VARIABLE ...]
    CREATE STREAM readings (ts TIMESTAMP, room STRING, celsius DOUBLE);
    SELECT room, celsius FROM readings WHERE celsius > 26;

compiles the cell, keeps the program in the variable NAME (`program` without it) and shows its graph. With `--push` the rows of
variables (DataFrames, Arrow tables, lists of dicts) are pushed, and the results of all queries are shown instead.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click
from IPython.core.magic import Magics, cell_magic, magics_class

import cqc

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_USAGE = "%%cq [NAME] [--push STREAM=VARIABLE ...]"


@magics_class
class CqMagics(Magics):
    """The magic commands of cqc."""

    @cell_magic
    def cq(self, line: str, cell: str) -> Any:
        """Compile the program in a cell; with --push run it over rows that are there."""
        try:
            name, pushed = _parsed(line)
            program = cqc.compile(cell)
            self._variables[name] = program
            return self._run(program, pushed) if pushed else program
        except (cqc.CompileError, cqc.RunError, _MisusedError) as error:
            click.echo(str(error), err=True)  # what is wrong, without a traceback through cqc
            return None

    @property
    def _variables(self) -> dict[str, Any]:
        assert self.shell is not None
        variables: dict[str, Any] = self.shell.user_ns
        return variables

    def _run(self, program: cqc.Program, pushed: dict[str, str]) -> Any:
        rows = {}
        for stream, variable in pushed.items():
            if variable not in self._variables:
                raise _MisusedError(f"there is no variable {variable} to push into {stream}")
            rows[stream] = self._variables[variable]
        engine = cqc.Engine(program)
        engine.push_batch(rows)
        engine.finish()
        engine.closing_invocations()
        return engine.drain()


class _MisusedError(Exception):
    pass


def _parsed(line: str) -> tuple[str, dict[str, str]]:
    name, pushed = "program", {}
    words = iter(shlex.split(line))
    for word in words:
        if word == "--push":
            stream, equals, variable = next(words, "").partition("=")
            if not (stream and equals and variable):
                raise _MisusedError(f"--push takes STREAM=VARIABLE; usage: {_USAGE}")
            pushed[stream] = variable
        elif word.isidentifier():
            name = word
        else:
            raise _MisusedError(f"{word!r} is not understood; usage: {_USAGE}")
    return name, pushed


def load(shell: InteractiveShell) -> None:
    """Register the magics with a shell."""
    shell.register_magics(CqMagics)
