"""Answer a shell that asks, by the variable _CQC_COMPLETE, what could come next on the command line."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

VARIABLE = "_CQC_COMPLETE"


def completion_script(shell: str, group: click.Command) -> str:
    """The script that makes a shell ask `cqc` whenever the user presses Tab."""
    completer = get_completion_class(shell)
    assert completer is not None
    return completer(group, {}, "cqc", VARIABLE).source()


def answer_shell(group: click.Group) -> bool:
    """Answer a shell that asks what could come next. False: nobody asks."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return False
    shell, _, instruction = asked.partition("_")
    completer = get_completion_class(shell)
    if completer is None or instruction != "complete":
        return False
    click.echo(completer(group, {}, "cqc", VARIABLE).complete())
    return True
