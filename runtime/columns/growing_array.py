"""Arrays that grow at the end, for what queries add one by one and kernels read all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Growing:
    """An array whose first dimension grows by doubling; `view()` is the part in use."""

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        self._buffer: NDArray[Any] = np.zeros((16,) if width is None else (16, width), dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        return self._buffer.nbytes

    def view(self) -> NDArray[Any]:
        """The elements, without copying; valid until the next one is added."""
        return self._buffer[: self._length]

    def append(self, value: Any) -> int:
        """Add an element (a row where there is a width); returns its position."""
        self._reserve(self._length + 1)
        self._buffer[self._length] = value
        self._length += 1
        return self._length - 1

    def extend(self, values: Any) -> None:
        """Add elements."""
        self._reserve(self._length + len(values))
        self._buffer[self._length : self._length + len(values)] = values
        self._length += len(values)

    def swap_remove(self, position: int) -> bool:
        """Put the last element in the place of one that goes; says whether another moved there."""
        self._length -= 1
        self._buffer[position] = self._buffer[self._length]
        return position < self._length

    def _reserve(self, length: int) -> None:
        if length > len(self._buffer):
            grown = np.zeros(
                (max(length, 2 * len(self._buffer)), *self._buffer.shape[1:]), self._buffer.dtype
            )
            grown[: self._length] = self._buffer[: self._length]
            self._buffer = grown
