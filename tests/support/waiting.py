"""Waiting for something to become true, without a guess at how long that takes.

A test that waits says what for; how long is one generous limit for all, so that a machine twenty times slower passes too and
a test that would wait for ever still ends.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

PATIENCE_S = 120.0  # below the limit of a whole test in pyproject.toml
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.5  # looking takes time itself, from that which is waited for


def wait_until(condition: Callable[[], bool], what: str = "it did not happen") -> None:
    """Return as soon as the condition holds; the test fails when it never does."""
    give_up = time.monotonic() + PATIENCE_S
    pause = _FIRST_PAUSE_S
    while not condition():
        if time.monotonic() > give_up:
            pytest.fail(what)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def write_whole(file: Path, text: str) -> None:
    """Make or change a file that somebody is watching: they see the old one or the new one, never half of it."""
    aside = file.with_name(f".{file.name}.aside")
    aside.write_text(text, encoding="utf-8")
    aside.replace(file)
