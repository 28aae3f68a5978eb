"""`cqc completion SHELL`: what a shell needs to complete commands and options of `cqc`.

The script that is printed asks `cqc` itself, by the variable _CQC_COMPLETE, whenever the user presses Tab.
"""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

VARIABLE = "_CQC_COMPLETE"
_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
def completion_command(shell: str) -> None:
    r"""Print the completion script of a shell.

    \b
    bash:  cqc completion bash > ~/.local/share/bash-completion/completions/cqc
    zsh:   cqc completion zsh > "${fpath[1]}/_cqc"
    fish:  cqc completion fish > ~/.config/fish/completions/cqc.fish
    """
    group = click.get_current_context().find_root().command
    completer = get_completion_class(shell)
    assert completer is not None
    click.echo(completer(group, {}, "cqc", VARIABLE).source())


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
