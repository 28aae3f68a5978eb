"""The garbage collector, kept still while queries are compiled and registered."""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Collector:
    """Keeps the garbage collector still while somebody compiles: trees have no cycles, and walking a million nodes is slow.

    It is one for the whole process, so several threads that compile must be counted: the first switches it off, and the last on
    again. Otherwise one that looks while another has it off would leave it off for good.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a finalizer may compile in the thread that holds it
        self._compiling = 0
        self._was_enabled = False

    @contextmanager
    def is_still(self) -> Iterator[None]:
        with self._lock:
            if not self._compiling:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._compiling += 1
        try:
            yield
        finally:
            with self._lock:
                self._compiling -= 1
                if not self._compiling and self._was_enabled:
                    gc.enable()


COLLECTOR = Collector()
