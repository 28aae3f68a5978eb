"""`cqc bench`: the benchmarks, each beside its peers."""

from __future__ import annotations

import importlib

import click

NAMES = ["compile", "filters", "joins", "theta", "pull", "spark"]


@click.command("bench")
@click.argument("name", type=click.Choice(NAMES))
@click.option("--quick", is_flag=True, help="Smaller sizes and fewer repeats.")
def bench_command(name: str, *, quick: bool) -> None:
    """Run one benchmark and print its table; the full run also records it in benchmarks/NAME/results.md."""
    module = importlib.import_module(f"cqc.benchmarks.{name}.run")
    click.echo(module.run(quick=quick))
