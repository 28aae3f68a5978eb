"""`cqc --version`: what is installed, in one look, for whoever writes a report."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import click


def show_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print the versions and end, when the option is given."""
    if not value or context.resilient_parsing:
        return
    click.echo(version_text())
    context.exit()


def version_text() -> str:
    """cqc, Python, Spark and Java, those that are there."""
    from cqc.runtime.spark.session.java import found_java  # --help does not pay for it

    return "\n".join(
        [
            f"cqc {version('cqc')}",
            f"Python {platform.python_version()}",
            f"Spark {_installed('pyspark')}",
            f"Java {found_java()}",
        ]
    )


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not found"
