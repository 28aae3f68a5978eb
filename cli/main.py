"""The command `cqc`: the group, its exit codes and what a user sees when something goes wrong.

Commands are loaded when they are named, so that `cqc --help` answers at once. Exit codes are INTERFACE.md's:
0 done, 1 the program has errors, 2 wrong usage, 3 the run failed, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "compile": "Compile programs and show the shared operator graph.",
    "check": "Report what is wrong with programs, and nothing else.",
    "fmt": "Format programs in place.",
    "run": "Compile programs and run them.",
    "explain": "Explain a program, a finished run (--analyze), or an error code.",
    "serve": "Run programs as a long-running service.",
    "register": "Register a query with a running service.",
    "queries": "List the queries of a running service.",
    "invoke": "Ask a query of a running service for its answer.",
    "unregister": "Remove a query from a running service.",
    "watch": "Follow the results of a running service.",
    "bench": "Run a benchmark beside its peers.",
}
CLIENT_COMMANDS = {"register", "queries", "invoke", "unregister", "watch"}

USAGE, FAILED, INTERRUPTED = 2, 3, 130


class LazyGroup(click.Group):
    """A group whose commands live in modules of their own, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        file = "client" if cmd_name in CLIENT_COMMANDS else cmd_name
        module = importlib.import_module(f"cqc.cli.{file}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cqc", message="cqc %(version)s")
def cqc() -> None:
    """Compile SQL-like continuous queries into one shared operator graph, and run it.

    PROGRAM is a .cq file, a folder of them, or - for standard input; all that are named form one
    program. Add --debug to any command for the traceback of a failure.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    code = run_command([argument for argument in given if argument != "--debug"], debug=debug)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_broken_pipe()
    sys.exit(code)


def run_command(arguments: list[str], *, debug: bool = False) -> int:
    """Run one command and return its exit code; nothing but the code and messages gets out."""
    # Imported here: --help must not pay for it.
    from cqc.compiler.diagnostics import CompileError, InternalError

    try:
        result = cqc.main(arguments, prog_name="cqc", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        _leave_broken_pipe()
        return 0
    except CompileError as error:
        from cqc.cli.report import show_diagnostics

        show_diagnostics(error.diagnostics)
        return 1
    except InternalError as error:
        return _internal(error, debug=debug)
    except Exception as error:  # the only place: no traceback reaches a user
        return _failed(error, debug=debug)
    return result if isinstance(result, int) else 0


def _failed(error: Exception, *, debug: bool) -> int:
    from cqc.runtime.errors import RunError

    if debug:
        traceback.print_exception(error)
    if isinstance(error, RunError):
        click.echo(f"error: {error}", err=True)
        return FAILED
    if isinstance(error, OSError) and error.filename is not None:
        click.echo(f"error: {error.filename}: {error.strerror}", err=True)
        return FAILED
    return _internal(error, debug=False)


def _internal(error: Exception, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    click.echo(
        f"error: this is a bug in cqc ({type(error).__name__}: {error}). "
        "Please report it with your program; --debug shows where it happened.",
        err=True,
    )
    return FAILED


def _leave_broken_pipe() -> None:
    """Whoever read our output has gone (`| head`): not an error, but Python must not try to flush again."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    main()
