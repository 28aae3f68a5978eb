"""The values of secrets, looked up at the last moment and kept nowhere."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.meaning.secrets import Secret
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping

_BETWEEN = re.compile(r"[\s/:@?&=;,'\"]+")
_SHORTEST = 4
_NO_SECRET = (
    "",
    "http",
    "https",
    "host",
    "port",
    "user",
    "password",
    "dbname",
    "postgres",
    "postgresql",
    "localhost",
    "127.0.0.1",
)


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


def without_secrets(text: str, options: Mapping[str, str], values: Mapping[str, str]) -> str:
    """A text in which every value of a secret is the place that it came from.

    Clients and servers put into their messages what they were given: an address with a password in it, for one.

    Args:
        text: what is to be shown.
        options: as they were declared.
        values: the same, revealed.
    """
    for key, declared in options.items():
        if isinstance(declared, Secret) and key in values:
            for part in _parts(values[key]):
                text = text.replace(part, str(declared))
    return text


def _parts(value: str) -> list[str]:
    """What of a secret a message may repeat: all of it, or a part of a connection string, such as the password."""
    parts = (part for part in _BETWEEN.split(value) if len(part) >= _SHORTEST)
    return [
        each for each in (value, *sorted(parts, key=len, reverse=True)) if each not in _NO_SECRET
    ]
