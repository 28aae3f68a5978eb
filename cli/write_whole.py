"""Output files that are there whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from cqc.runtime.errors import RunError


def write_output(text: str, out: str | None) -> None:
    """Print the text, or write it to a file in one step (aside, then renamed)."""
    if out is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    write_file(Path(out), text if text.endswith("\n") else text + "\n")


def write_file(path: Path, text: str) -> None:
    """Replace a file's content so that a crash or a full disk leaves the old one.

    A link is followed, and what is not a plain file (a pipe, /dev/null) is simply written to.
    """
    target = path.resolve() if path.is_symlink() else path
    if target.exists() and not target.is_file():
        _write(target, text, path)
        return
    aside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        _write(aside, text, path)
        if target.exists():
            aside.chmod(target.stat().st_mode)
        aside.replace(target)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from error
    finally:
        aside.unlink(missing_ok=True)


def _write(target: Path, text: str, shown: Path) -> None:
    try:
        with target.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise RunError(f"cannot write {shown}: {error.strerror}") from error
