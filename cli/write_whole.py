"""Output files that are there whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile

from cqc.runtime.errors import RunError


def write_output(text: str, out: str | None) -> None:
    """Print the text (`out` is None or `-`), or write it to a file in one step (aside, then renamed).

    Raises:
        RunError: when it cannot be written.
    """
    whole = text if not text or text.endswith("\n") else text + "\n"
    if out is not None and out != "-":
        write_file(Path(out), whole)
        return
    try:
        sys.stdout.write(whole)
        sys.stdout.flush()
    except BrokenPipeError:
        raise  # the reader has gone, which is no error
    except OSError as error:
        raise RunError(f"cannot write standard output: {error.strerror}") from error


def write_file(path: Path, text: str) -> None:
    """Replace a file's content so that a crash or a full disk leaves the old one.

    A link is followed, and what is not a plain file (a pipe, /dev/null) is simply written to.

    Raises:
        RunError: when it cannot be written.
    """
    try:
        target = path.resolve() if path.is_symlink() else path
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8", newline="")
        else:
            _replace(target, text)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from error


def _replace(target: Path, text: str) -> None:
    mode = target.stat().st_mode if target.exists() else None
    with NamedTemporaryFile(
        "w", encoding="utf-8", newline="", dir=target.parent, prefix=".cqc-", delete=False
    ) as aside:
        try:
            aside.write(text)
            aside.flush()
            os.fsync(aside.fileno())
            Path(aside.name).chmod(_usual_mode() if mode is None else mode)
            Path(aside.name).replace(target)
        except BaseException:
            Path(aside.name).unlink()
            raise


def _usual_mode() -> int:
    """The permissions of a file that is simply opened; temporary files have stricter ones."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
