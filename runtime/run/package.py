"""An archive of this installation for the executors of a cluster.

Spark unpacks an archive on every node, into files: kernels then find their cache beside their source, compiled here, and no
executor compiles anything as long as it has a processor of the same kind. The cache is bound to the source by the time
at which that was written, to the second, since archives keep no more.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from cqc.runtime.errors import RunError

_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc", "benchmarks", ".*")
LAUNCHER = """from cqc.cli.entry import main

main()
"""


def build_package(out: Path, *, kernels: bool = True) -> Path:
    """Write the archive.

    Raises:
        RunError: when the kernels cannot be compiled, or the archive cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="cqc-package-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(Path(__file__).parents[2], tree / "cqc", ignore=_LEFT_OUT)
        (tree / "cqc_main.py").write_text(LAUNCHER, encoding="utf-8")
        for file in tree.rglob("*"):
            seconds = int(file.stat().st_mtime)
            os.utime(file, (seconds, seconds))
        if kernels:
            _compile_kernels(tree)
        try:
            with tarfile.open(out, "w:gz") as archive:
                archive.add(tree, ".")
        except OSError as error:
            raise RunError(f"cannot write {out}: {error.strerror or error}") from error
    return out


def how_to_use(package: Path) -> str:
    """The command that uses a package."""
    return (
        f"{package} is written. Use it as\n\n"
        f"  spark-submit --master MASTER --archives {package}#cqc_package \\\n"
        "    --conf spark.executorEnv.PYTHONPATH=cqc_package \\\n"
        "    --conf spark.python.daemon.module=cqc.runtime.spark.distributed.daemon \\\n"
        "    cqc_main.py run PROGRAM.cq --distribute --checkpoint SHARED_FOLDER\n\n"
        "where cqc_main.py is the file of that name in the archive, and cqc is installed beside the driver."
    )


def _compile_kernels(tree: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    finished = subprocess.run(
        [sys.executable, "-c", _WARM, str(tree)],
        env=environment,
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        raise RunError(f"the kernels do not compile: {finished.stderr.strip().splitlines()[-1]}")


_WARM = """
import sys
import cqc
from cqc.runtime.warm import warm
assert cqc.__file__.startswith(sys.argv[1]), cqc.__file__
warm()
"""
