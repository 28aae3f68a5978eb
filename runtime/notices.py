"""Sentences for the user while a run goes on: on standard error, and seen at once."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Tell the user something while the run goes on."""
    sys.stderr.write(f"{text.rstrip()}\n")
    sys.stderr.flush()
