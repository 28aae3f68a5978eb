"""`cqc bench`: the benchmarks, each beside its peers."""

from __future__ import annotations

import importlib
import subprocess
from importlib.resources import files

import click

from cqc.runtime.errors import RunError


def names() -> list[str]:
    """The benchmarks there are: the folders of `benchmarks/` that can be run."""
    return sorted(homes())


def homes() -> dict[str, str]:
    """The package of each benchmark, by the name that it is asked for with."""
    rooms = [each for each in files("cqc.benchmarks").iterdir() if each.is_dir()]
    folders = ((room.name, each) for room in rooms for each in room.iterdir() if each.is_dir())
    return {
        each.name: f"cqc.benchmarks.{room}.{each.name}"
        for room, each in folders
        if (each / "run.py").is_file()
    }


@click.command("bench")
@click.argument("name", type=click.Choice(names()))
@click.option("--quick", is_flag=True, help="Smaller sizes and fewer repeats.")
def bench_command(name: str, *, quick: bool) -> None:
    """Run one benchmark and print its table.

    The full run also records it in results.md beside it.
    """
    module = importlib.import_module(f"{homes()[name]}.run")
    try:
        click.echo(module.run(quick=quick))
    except subprocess.SubprocessError as error:
        raise RunError(f"a measurement failed: {error}") from error
