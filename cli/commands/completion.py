"""`cqc completion SHELL`: what a shell needs to complete commands and options of `cqc`."""

from __future__ import annotations

import click

from cqc.cli.shell_completion import completion_script

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
    click.echo(completion_script(shell, click.get_current_context().find_root().command))
