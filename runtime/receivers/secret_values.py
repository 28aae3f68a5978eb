"""The values of secrets, looked up at the last moment and kept nowhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.meaning.secrets import Secret
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping


def reveal(text: str, folder: str = ".") -> str:
    """What an option says: of a secret its value, of everything else the text.

    Args:
        text: the option.
        folder: that relative paths of FILE are relative to.

    Raises:
        RunError: when there is no such variable or file.
    """
    if not isinstance(text, Secret):
        return text
    if text.place == "ENV":
        value = os.environ.get(text.name)
        if value is None:
            raise RunError(f"{text} has no value: set the environment variable {text.name}")
        return value
    path = Path(folder) / text.name
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise RunError(f"{text} cannot be read: {reason}") from error


def revealed(options: Mapping[str, str], folder: str = ".") -> dict[str, str]:
    """All options with the values of their secrets.

    Raises:
        RunError: when one has no value.
    """
    return {key: reveal(text, folder) for key, text in options.items()}
