"""Bytes of JSON text, many at a time, for the kernels that walk over it.

Most bytes of a log stand inside strings and mean only themselves. A vector instruction finds the next one that does not, 32 bytes at a
time, and a text is hashed and compared 8 bytes at a time. Each is given twice: for compiled kernels, and for Python, which runs kernels where there
is little to do. Whoever calls sees to it that so many bytes are there.

    clean_bytes   how many of 32 bytes come before a quote, a backslash, a control character or one beyond ASCII
    quotes, backslashes, odd_bytes, plain_escapes
                  which of 64 bytes are such, as the bits of a number: the lowest is that of the first byte
    first_bit     the number of the lowest bit, 64 where there is none
    bytes_of_line how many of 32 bytes come before a newline
    expect        have bytes brought nearer that will be read soon: those of one column lie far apart
    byte, word    one byte, or 8 of them as a number
    copy, copy_all  some bytes from one place to another, or 32
    int32_at, put_int32 and the like read and write whole numbers

Kernels are told where the text begins in memory, not the array: handing an array on counts who holds it, which takes longer than a look at a byte.
"""

from __future__ import annotations

from ctypes import c_int32, c_int64, c_uint8, memmove
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.columns.array_addresses import array_at
from cqc.runtime.kernel import machine_code

if TYPE_CHECKING:
    from collections.abc import Callable

AT_ONCE, BITS = 32, 64
_WHOLE: dict[int, Any] = {8: c_uint8, 32: c_int32, 64: c_int64}
_QUOTE, _BACKSLASH, _NEWLINE, _SPACE = b'"\\\n '
_PLAIN_ESCAPES = b'"\\/bfnrt'  # what stands behind a backslash and is one character with it


def _clean_bytes(address: int) -> int:
    signed = array_at(address, (AT_ONCE,), np.int8)
    return _first((signed == _QUOTE) | (signed == _BACKSLASH) | (signed < _SPACE))


def _bytes_of_line(address: int) -> int:
    return _first(array_at(address, (AT_ONCE,), np.uint8) == _NEWLINE)


def _quotes(address: int) -> Any:
    return _as_bits(array_at(address, (BITS,), np.uint8) == _QUOTE)


def _backslashes(address: int) -> Any:
    return _as_bits(array_at(address, (BITS,), np.uint8) == _BACKSLASH)


def _odd_bytes(address: int) -> Any:
    return _as_bits(array_at(address, (BITS,), np.int8) < _SPACE)


def _plain_escapes(address: int) -> Any:
    return _as_bits(np.isin(array_at(address, (BITS,), np.uint8), list(_PLAIN_ESCAPES)))


def _as_bits(mask: Any) -> Any:
    return np.packbits(mask, bitorder="little").view(np.uint64)[0]


def _first_bit(bits: Any) -> int:
    number = int(bits)
    return (number & -number).bit_length() - 1 if number else BITS


def _first(mask: Any) -> int:
    return int(mask.argmax()) if mask.any() else AT_ONCE


def _byte(address: int) -> int:
    return c_uint8.from_address(int(address)).value


def _whole(address: int, bits: int) -> int:
    return int(_WHOLE[bits].from_address(int(address)).value)


def _put(address: int, bits: int, value: int) -> None:
    _WHOLE[bits].from_address(int(address)).value = int(value)


def _word(address: int) -> Any:
    return np.uint64(int.from_bytes(array_at(address, (8,), np.uint8).tobytes(), "little"))


def _search_code(is_special: Callable[[Any, Any, Callable[[int], Any]], Any]) -> Any:
    """The code of a search through 32 bytes; `is_special` makes the comparison of all of them."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    numbers, mask = ir.VectorType(ir.IntType(8), AT_ONCE), ir.IntType(AT_ONCE)
    wide = ir.IntType(64)

    @intrinsic
    def search(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            found = builder.load(builder.inttoptr(arguments[0], numbers.as_pointer()), align=1)
            special = is_special(builder, found, lambda byte: numbers([byte] * AT_ONCE))
            bits = builder.zext(builder.bitcast(special, mask), wide)
            bits = builder.or_(bits, wide(1 << AT_ONCE))  # so that one is always found
            return builder.cttz(bits, ir.IntType(1)(1))

        return types.int64(types.int64), generate

    return search


def _bits_code(is_one: Callable[[Any, Any, Callable[[int], Any]], Any]) -> Any:
    """The code that says which of 64 bytes are such."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    numbers, bits = ir.VectorType(ir.IntType(8), BITS), ir.IntType(BITS)

    @intrinsic
    def which(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            found = builder.load(builder.inttoptr(arguments[0], numbers.as_pointer()), align=1)
            return builder.bitcast(
                is_one(builder, found, lambda byte: numbers([byte] * BITS)), bits
            )

        return types.uint64(types.int64), generate

    return which


def _odd_bytes_code() -> Any:
    # As signed numbers, bytes beyond ASCII are below 0.
    return _bits_code(
        lambda builder, found, all_of: builder.icmp_signed("<", found, all_of(_SPACE))
    )


def _one_of_code(letters: bytes) -> Any:
    def is_one(builder: Any, found: Any, all_of: Callable[[int], Any]) -> Any:
        equal = [builder.icmp_unsigned("==", found, all_of(letter)) for letter in letters]
        return reduce(builder.or_, equal)

    return _bits_code(is_one)


def _first_bit_code() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def first_bit(typing_context: Any, bits: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.IntType(1)(0))

        return types.int64(types.uint64), generate

    return first_bit


def _clean_bytes_code() -> Any:
    def is_special(builder: Any, found: Any, all_of: Callable[[int], Any]) -> Any:
        quote = builder.icmp_unsigned("==", found, all_of(_QUOTE))
        backslash = builder.icmp_unsigned("==", found, all_of(_BACKSLASH))
        # As signed numbers, bytes beyond ASCII are below 0.
        low = builder.icmp_signed("<", found, all_of(_SPACE))
        return builder.or_(builder.or_(quote, backslash), low)

    return _search_code(is_special)


def _bytes_of_line_code() -> Any:
    return _search_code(
        lambda builder, found, all_of: builder.icmp_unsigned("==", found, all_of(_NEWLINE))
    )


def _load_code(bits: int, *, is_signed: bool) -> Any:
    """The code that reads a number of so many bits."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            loaded = builder.load(place, align=1)
            if bits == 64:
                return loaded
            wide = ir.IntType(64)
            return builder.sext(loaded, wide) if is_signed else builder.zext(loaded, wide)

        return (types.uint64 if bits == 64 and not is_signed else types.int64)(
            types.int64
        ), generate

    return load


def _store_code(bits: int) -> Any:
    """The code that writes a number of so many bits."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def store(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.IntType(bits)
            place = builder.inttoptr(arguments[0], kind.as_pointer())
            value = arguments[1] if bits == 64 else builder.trunc(arguments[1], kind)
            builder.store(value, place, align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return store


def _copy(source: int, target: int, size: int) -> None:
    memmove(int(target), int(source), int(size))


def _copy_code() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    memcpy: Any = cgutils.raw_memcpy

    @intrinsic
    def copy(typing_context: Any, source: Any, target: Any, size: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointers = [
                builder.inttoptr(each, ir.IntType(8).as_pointer()) for each in arguments[:2]
            ]
            memcpy(builder, pointers[1], pointers[0], arguments[2], 1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return copy


def _expect(address: int) -> None:
    """Python has no use for it."""


def _expect_code() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    numbers, line = ir.IntType(32), ir.IntType(8).as_pointer()

    @intrinsic
    def expect(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [line, numbers, numbers, numbers])
            prefetch = builder.module.declare_intrinsic("llvm.prefetch", [line], kind)
            place = builder.inttoptr(arguments[0], line)
            builder.call(prefetch, [place, numbers(0), numbers(3), numbers(1)])
            return context.get_dummy_value()

        return types.void(types.int64), generate

    return expect


def _copy_all(source: int, target: int) -> None:
    _copy(source, target, AT_ONCE)


def _copy_all_code() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    numbers = ir.VectorType(ir.IntType(8), AT_ONCE)

    @intrinsic
    def copy_all(typing_context: Any, source: Any, target: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            places = [builder.inttoptr(each, numbers.as_pointer()) for each in arguments]
            builder.store(builder.load(places[0], align=1), places[1], align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return copy_all


clean_bytes: Any = machine_code(_clean_bytes, _clean_bytes_code)
bytes_of_line: Any = machine_code(_bytes_of_line, _bytes_of_line_code)
quotes: Any = machine_code(_quotes, lambda: _one_of_code(b'"'))
backslashes: Any = machine_code(_backslashes, lambda: _one_of_code(b"\\"))
odd_bytes: Any = machine_code(_odd_bytes, _odd_bytes_code)
plain_escapes: Any = machine_code(_plain_escapes, lambda: _one_of_code(_PLAIN_ESCAPES))
first_bit: Any = machine_code(_first_bit, _first_bit_code)
copy: Any = machine_code(_copy, _copy_code)
copy_all: Any = machine_code(_copy_all, _copy_all_code)
expect: Any = machine_code(_expect, _expect_code)
byte: Any = machine_code(_byte, lambda: _load_code(8, is_signed=False))
word: Any = machine_code(_word, lambda: _load_code(64, is_signed=False))
int32_at: Any = machine_code(
    lambda place: _whole(place, 32), lambda: _load_code(32, is_signed=True)
)
int64_at: Any = machine_code(
    lambda place: _whole(place, 64), lambda: _load_code(64, is_signed=True)
)
put_byte: Any = machine_code(lambda place, value: _put(place, 8, value), lambda: _store_code(8))
put_int32: Any = machine_code(lambda place, value: _put(place, 32, value), lambda: _store_code(32))
put_int64: Any = machine_code(lambda place, value: _put(place, 64, value), lambda: _store_code(64))
