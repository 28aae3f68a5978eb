"""`cqc bench`: the benchmarks, each beside its peers."""

from __future__ import annotations

import importlib
import subprocess
from importlib.resources import files

import click

from cqc.runtime.errors import RunError


def names() -> list[str]:
    """The benchmarks there are: the folders of `benchmarks/` that can be run."""
    folders = (each for each in files("cqc.benchmarks").iterdir() if each.is_dir())
    return sorted(each.name for each in folders if (each / "run.py").is_file())


@click.command("bench")
@click.argument("name", type=click.Choice(names()))
@click.option("--quick", is_flag=True, help="Smaller sizes and fewer repeats.")
def bench_command(name: str, *, quick: bool) -> None:
    """Run one benchmark and print its table.

    The full run also records it in benchmarks/NAME/results.md.
    """
    module = importlib.import_module(f"cqc.benchmarks.{name}.run")
    try:
        click.echo(module.run(quick=quick))
    except subprocess.SubprocessError as error:
        raise RunError(f"a measurement failed: {error}") from error
