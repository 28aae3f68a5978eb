"""`cqc import`: programs of the rules of other systems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.importers.rule_files import NotSaid, RuleFile

SHOWN = 50
NOTHING_SAID = 1

out_option = click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write .cq files into this folder; standard output by default.",
)
strict_option = click.option(
    "--strict", is_flag=True, help="Exit code 1 when a rule cannot be said."
)

_SHARED = (
    click.option(
        "--mapping",
        "mappings",
        multiple=True,
        metavar="NAME|FILE",
        help="Where log sources and their fields are (repeatable): one that comes with cqc, such as winlogbeat, or a file of yours.",
    ),
    click.option(
        "--delay",
        default="1 MINUTE",
        show_default=True,
        metavar="DURATION",
        help="How late events may come.",
    ),
    click.option(
        "--alerts", is_flag=True, help="Make alerts instead of queries; the level is the severity."
    ),
    click.option(
        "--per",
        "per",
        multiple=True,
        metavar="FIELD",
        help="Keep alerts apart by this field (repeatable).",
    ),
    click.option(
        "--once-every",
        default="1 HOUR",
        show_default=True,
        metavar="DURATION",
        help="Repeat an alert at most this often.",
    ),
)


def sources_and_alerts(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say where events are and how rules are delivered."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


@click.group("import")
def import_command() -> None:
    """Make programs of the rules of other systems."""


@import_command.command("sigma")
@click.argument("rules", metavar="RULES...", nargs=-1, required=True)
@click.option(
    "--pipeline",
    "-p",
    "pipelines",
    multiple=True,
    metavar="NAME|FILE",
    help="A processing pipeline of pySigma (repeatable).",
)
@sources_and_alerts
@out_option
@strict_option
def sigma_command(
    rules: tuple[str, ...],
    pipelines: tuple[str, ...],
    mappings: tuple[str, ...],
    delay: str,
    alerts: bool,
    per: tuple[str, ...],
    once_every: str,
    out: Path | None,
    strict: bool,
) -> int:
    """Make a program of Sigma rules, correlation rules and filters.

    RULES are files, or folders of .yml files. `streams.cq` declares a stream for each log source; every rule becomes a query
    in a file of its own. What cannot be said is listed with the reason, and the rest is written.
    """
    try:
        from sigma.exceptions import SigmaError

        from cqc.importers.mapping import MappingError
        from cqc.importers.sigma.rule_set import find_pipeline, import_rules
    except ImportError as error:
        raise click.UsageError(
            f"`cqc import sigma` needs pySigma: pip install 'cqc[sigma]' ({error})"
        ) from error
    try:
        pipeline = find_pipeline(pipelines)
    except (SigmaError, OSError, ValueError) as error:
        raise click.UsageError(f"--pipeline {', '.join(pipelines)}: {error}") from error
    try:
        imported = import_rules(
            rules,
            pipeline,
            mapping=mappings,
            delay=_duration(delay, "--delay") if delay else "",
            alerts=alerts,
            per=per,
            once_every=_duration(once_every, "--once-every"),
        )
    except MappingError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise click.UsageError(f"cannot read {error.filename}: {error.strerror}") from error
    return _finish(imported.streams, imported.files, imported.not_said, out, strict=strict)


@import_command.command("eql")
@click.argument("rules", metavar="RULES...", nargs=-1, required=True)
@click.option(
    "--category-field",
    default="event.category",
    show_default=True,
    metavar="FIELD",
    help="Where an event has its category.",
)
@sources_and_alerts
@out_option
@strict_option
def eql_command(
    rules: tuple[str, ...],
    category_field: str,
    mappings: tuple[str, ...],
    delay: str,
    alerts: bool,
    per: tuple[str, ...],
    once_every: str,
    out: Path | None,
    strict: bool,
) -> int:
    """Make a program of EQL queries and of Elastic's detection rules.

    RULES are files, or folders of them: .eql with queries, .toml, .json and .ndjson with rules. `streams.cq` declares the stream
    `events`; every rule becomes a query in a file of its own. What cannot be said is listed with the reason, and the rest is written.
    """
    from cqc.importers.eql.rule_set import Options, import_rules
    from cqc.importers.mapping import MappingError

    options = Options(
        mappings,
        _duration(delay, "--delay") if delay else "",
        category_field,
        alerts,
        per,
        _duration(once_every, "--once-every"),
    )
    try:
        imported = import_rules(rules, options)
    except MappingError as error:
        raise click.UsageError(str(error)) from error
    except ImportError as error:
        raise click.UsageError(
            f"`cqc import eql` needs PyYAML: pip install 'cqc[sigma]' ({error})"
        ) from error
    except OSError as error:
        raise click.UsageError(f"cannot read {error.filename}: {error.strerror}") from error
    for note in imported.notes:
        click.echo(f"note: {note}", err=True)
    return _finish(imported.streams, imported.files, imported.not_said, out, strict=strict)


def _duration(text: str, option: str) -> str:
    """A duration as the language has them.

    Raises:
        click.UsageError: for anything else, so that no option is spliced into a program unread.
    """
    from cqc.compiler import CompileError, compile_sources
    from cqc.compiler.diagnostics.source import SourceFile

    try:
        program = (
            "CREATE STREAM s (ts TIMESTAMP); CREATE STREAM r (ts TIMESTAMP);"
            f"SELECT s.ts FROM s, r MAXWINDOW {text};"
        )
        compile_sources([(SourceFile(option, program), ".")])
    except CompileError as error:
        raise click.UsageError(
            f"{option} {text}: a duration is wanted, such as 1 MINUTE"
        ) from error
    return text


def _finish(
    streams: str,
    files: Sequence[RuleFile],
    not_said: Sequence[NotSaid],
    out: Path | None,
    *,
    strict: bool,
) -> int:
    """Write the program, list what is not in it; returns the exit code."""
    from cqc.importers.rule_files import write_program

    for each in not_said:
        click.echo(f"not said: {each}", err=True)
    if out is None:
        click.echo("\n".join([streams, *(each.text for each in files)]), nl=False)
    else:
        try:
            write_program(out, streams, files)
        except OSError as error:
            raise click.UsageError(f"cannot write {error.filename}: {error.strerror}") from error
    where = "" if out is None else f" to {out}"
    written = f"{len(files):,} rule{'' if len(files) == 1 else 's'} written"
    click.echo(f"{written}{where}, {len(not_said):,} not said", err=True)
    if not files or (strict and not_said):
        return NOTHING_SAID
    return 0
