"""Keeps pandas out of a local run.

pyarrow imports pandas the first time that it makes a value of Python's, if only to see that the value is none of pandas'. That is
0.25 CPU-s of a start, and no local run has a value of pandas. While pyarrow looks, pandas cannot be found; after that it can:
whoever asks pyarrow for a DataFrame gets one.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


class _NotHere:
    """A finder of modules that knows of one only that it is not to be found."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """Nothing; the finders after this one are not asked for pandas."""
        if name == "pandas":
            raise ImportError("pandas is not wanted now", name=name)


def keep_pandas_out() -> None:
    """Let pyarrow look for pandas now, and find none; nothing is done where it is there already."""
    import pyarrow as pa

    if "pandas" in sys.modules:
        return
    finder = _NotHere()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
