"""`cqc package`: what the executors of a cluster need, as one archive."""

from __future__ import annotations

import click


@click.command("package")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False),
    default="cqc-package.tar.gz",
    show_default=True,
    help="The archive to write.",
)
@click.option("--no-kernels", is_flag=True, help="Leave the compiled kernels out.")
def package_command(out: str, *, no_kernels: bool) -> None:
    """Pack this installation of cqc for `spark-submit --archives`.

    The archive has the code and, compiled for this kind of processor, its kernels. The packages that cqc depends on must be on
    the executors already.
    """
    from pathlib import Path

    from cqc.runtime.run.package import build_package, how_to_use

    written = build_package(Path(out), kernels=not no_kernels)
    click.echo(how_to_use(written))
