"""Where an array is in memory, for kernels that are told so by a row of numbers.

Handing an array to a kernel costs a tenth of a microsecond, and a kernel over several states wants dozens of them. Those that
stay where they are for long are described once, by address and size; whoever describes an array keeps it alive, and describes it
anew when there is another.
"""

from __future__ import annotations

from ctypes import c_char
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.kernel import machine_code

if TYPE_CHECKING:
    from numpy.typing import NDArray


def address(array: NDArray[Any]) -> int:
    """The address of an array without gaps."""
    assert array.flags.c_contiguous
    return int(array.ctypes.data)


def array_at(place: int, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """The array at an address; whoever has it keeps it alive."""
    size = int(prod(shape)) * np.dtype(dtype).itemsize
    if not size:
        return np.zeros(shape, dtype)
    return np.frombuffer((c_char * size).from_address(int(place)), dtype).reshape(shape)


def _pointer_code() -> Any:
    from numba import int64, types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def pointer(typing_context: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], cgutils.voidptr_t)

        return types.voidptr(int64), generate

    return pointer


def _carray_code() -> Any:
    import numba

    return numba.carray  # type: ignore[attr-defined]  # numba does not say that it is public


# For kernels: `carray(pointer(address), shape, dtype)` is the array at an address.
pointer: Any = machine_code(int, _pointer_code)
carray: Any = machine_code(array_at, _carray_code)
