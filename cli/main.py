"""The command `cqc`: the group, its exit codes and what a user sees when something goes wrong.

Commands are loaded when they are named, so that `cqc --help` answers at once. Exit codes are the same for all commands:
0 done, 1 the program has errors, 2 wrong usage (click's own), 3 the run failed, 130 interrupted, by Ctrl-C or by SIGTERM.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cqc.cli.interrupts import raise_on_interrupt
from cqc.cli.stop_at_once import INTERRUPTED, end_on_interrupt

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "compile": "Compile programs and show the shared operator graph.",
    "check": "Report what is wrong with programs, and nothing else.",
    "fmt": "Format programs in place.",
    "run": "Compile programs and run them.",
    "test": "Run the cases of .cqt files: input rows, and what must come out.",
    "backtest": "Show what would have fired over recorded data.",
    "init": "Make a small project that runs.",
    "import": "Make programs of the rules of other systems (sigma, eql).",
    "explain": "Explain a program, run it and show what was measured (--analyze), or explain an error code.",
    "serve": "Run programs as a long-running service.",
    "register": "Register a query with a running service.",
    "queries": "List the queries of a running service.",
    "invoke": "Ask a query of a running service for its answer.",
    "unregister": "Remove a query from a running service.",
    "watch": "Follow the results of a running service.",
    "alerts": "List the alerts of a running service, with the keys that are pending or firing.",
    "sinks": "List the sinks of a running service, with what waits for them.",
    "sink": "Try a sink: `cqc sink test NAME`.",
    "top": "Show what a running service does, live.",
    "shell": "Type statements and see their answers as tables.",
    "package": "Pack this installation for the executors of a cluster.",
    "bench": "Run a benchmark beside its peers.",
    "completion": "Print what a shell needs to complete commands and options.",
}
CLIENT_COMMANDS = {"register", "queries", "invoke", "unregister", "watch", "sinks", "alerts"}

FILES = {"import": "import_rules"}  # those whose name cannot be a module's

PROGRAM_HAS_ERRORS, FAILED = 1, 3


class LazyGroup(click.Group):
    """A group whose commands live in modules of their own, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        file = "client" if cmd_name in CLIENT_COMMANDS else FILES.get(cmd_name, cmd_name)
        module = importlib.import_module(f"cqc.cli.commands.{file}")
        raise_on_interrupt()  # whoever runs it catches that
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; of a word that is none, what was probably meant."""
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            ctx.fail(f"No such command {word!r}.{_probably_meant(word)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _probably_meant(word: str) -> str:
    from cqc.compiler.diagnostics.suggest import closest

    if word.endswith(".cq"):
        return f" Did you mean `cqc run {word}`?"
    found = closest(word, COMMANDS)
    return "" if found is None else f" Did you mean `{found}`?"


def _show_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        from cqc.cli.version import show_version

        show_version(context, parameter, value)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the versions of cqc, Python, Spark and Java.",
)
def cqc() -> None:
    """Compile SQL-like continuous queries into one shared operator graph, and run it.

    PROGRAM is a .cq file, a folder of them, or - for standard input; all that are named form one
    program. Add --debug to any command for the traceback of a failure.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    _prepare_streams()
    end_on_interrupt()
    if "_CQC_COMPLETE" in os.environ:
        from cqc.cli.shell_completion import answer_shell

        if answer_shell(cqc):
            sys.exit(_flush_output(0))
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    code = run_command([argument for argument in given if argument != "--debug"], debug=debug)
    end_on_interrupt()
    sys.exit(_flush_output(code))


def run_command(arguments: list[str], *, debug: bool = False) -> int:
    """Run one command and return its exit code; nothing but the code and messages gets out."""
    try:
        # Not click's own main(): it has other exit codes for a closed pipe and for the end of standard input.
        with cqc.make_context("cqc", list(arguments)) as context:
            result = cqc.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    except (KeyboardInterrupt, click.Abort):
        _forget_interrupt()
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return 0
    except Exception as error:  # the only place: no traceback reaches a user
        if _comes_of_an_interrupt(error):
            click.echo("interrupted", err=True)
            return INTERRUPTED
        return _explain_failure(error, debug=debug)
    return result if isinstance(result, int) else 0


def _comes_of_an_interrupt(error: BaseException | None) -> bool:
    """Whether it was raised because of a Ctrl-C: Python makes a RuntimeError of one while a class is made, as modules do."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def _forget_interrupt() -> None:
    """Let the process end by its exit code.

    Python notes a Ctrl-C that ends an `exec` of text, as modules do while they are loaded, and would end by the signal
    although somebody has handled it; the next `exec` of text clears the note.
    """
    exec("")


def _explain_failure(error: Exception, *, debug: bool) -> int:
    # Imported here: --help must not pay for it.
    from cqc.cli.report import show_diagnostics
    from cqc.compiler.diagnostics.diagnostic import CompileError
    from cqc.runtime.errors import RunError

    if debug:
        traceback.print_exception(error)
    if isinstance(error, CompileError):
        show_diagnostics(error.diagnostics)
        return PROGRAM_HAS_ERRORS
    if isinstance(error, RunError):
        return _say(str(error))
    if isinstance(error, OSError) and error.strerror is not None:
        place = "" if error.filename is None else f"{error.filename}: "
        return _say(f"{place}{error.strerror}")
    if isinstance(error, MemoryError):
        return _say("out of memory")
    return _say(
        f"this is a bug in cqc ({_named(error)}). "
        "Please report it with your program; --debug shows where it happened."
    )


def _named(error: Exception) -> str:
    """An exception's type and message; one of the JVM cannot tell its message when the JVM has gone."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _say(sentence: str) -> int:
    click.echo(f"error: {sentence}", err=True)
    return FAILED


def _prepare_streams() -> None:
    """Text is UTF-8 whatever the locale says, and a stream that the caller closed leads nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - open to the end
            setattr(sys, name, nowhere)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _flush_output(code: int) -> int:
    """Hand over what is still buffered; the exit code tells when that fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        _discard_output()
        if code == 0:
            return _say(f"cannot write standard output: {error.strerror}")
    return code


def _discard_output() -> None:
    """Nobody takes our output any more (`| head`): Python must not try to flush it again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    main()
