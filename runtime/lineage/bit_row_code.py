"""The operations of `bit_rows` as vector instructions, for compiled kernels.

Numba compiles a loop over eight words into scalar code with overlap checks, which costs three times what the machine needs, so the
operations of the inner loops are written as instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

from cqc.runtime.lineage.bit_rows import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

intrinsic: Any = _intrinsic  # its declared type is that of the call outside kernels

_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_ROW = ir.VectorType(_I64, WORDS)
_NUMBERS = ir.VectorType(_I32, 64)


def _pointer(builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, kind.as_pointer())


def _row_at(builder: Any, table: Any, rows: Any, at: Any) -> Any:
    """Where row number `rows[at]` of the table is."""
    number = builder.zext(builder.load(builder.gep(rows, [at])), _I64)
    return builder.gep(table, [number])


def _conjunction_code(store: Callable[[Any, Any, Any], None]) -> Any:
    """The code of a conjunction; `store` writes its result to an address."""
    signature = types.void(types.uintp, types.uintp, types.intp, types.intp, types.uintp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, rows, start, stop, out = arguments
        table, rows = _pointer(builder, table, _ROW), _pointer(builder, rows, _I32)

        def pair(at: Any) -> Any:
            following = builder.add(at, _I64(1))
            first = builder.load(_row_at(builder, table, rows, at), align=8)
            return builder.xor(
                first, builder.load(_row_at(builder, table, rows, following), align=8)
            )

        first, second = pair(start), builder.add(start, _I64(2))
        before = builder.block
        loop, done = builder.append_basic_block("pairs"), builder.append_basic_block("done")
        builder.cbranch(builder.icmp_signed("<", second, stop), loop, done)
        builder.position_at_end(loop)
        at, so_far = builder.phi(_I64), builder.phi(_ROW)
        narrowed, following = builder.and_(so_far, pair(at)), builder.add(at, _I64(2))
        at.add_incoming(second, before)
        at.add_incoming(following, loop)
        so_far.add_incoming(first, before)
        so_far.add_incoming(narrowed, loop)
        builder.cbranch(builder.icmp_signed("<", following, stop), loop, done)
        builder.position_at_end(done)
        result = builder.phi(_ROW)
        result.add_incoming(first, before)
        result.add_incoming(narrowed, loop)
        store(builder, result, out)
        return context.get_dummy_value()

    return signature, generate


def _store(builder: Any, row: Any, out: Any) -> None:
    builder.store(row, _pointer(builder, out, _ROW), align=8)


def _store_past_caches(builder: Any, row: Any, out: Any) -> None:
    written = builder.store(row, _pointer(builder, out, _ROW), align=64)
    written.set_metadata("nontemporal", builder.module.add_metadata([_I32(1)]))


@intrinsic
def conjunction(typing_context, table, rows, start, stop, out):  # type: ignore[no-untyped-def]
    """Write to `out` the AND over the pairs of rows[start:stop] (at least one pair) of the XOR of each pair."""
    return _conjunction_code(_store)


@intrinsic
def conjunction_past_caches(typing_context, table, rows, start, stop, out):  # type: ignore[no-untyped-def]
    """The same, written to memory that is not read soon: whole cache lines, at an address that is a multiple of 64."""
    return _conjunction_code(_store_past_caches)


@intrinsic
def accumulate(typing_context, table, rows, start, stop):  # type: ignore[no-untyped-def]
    """Turn the rows of rows[start:stop] into running unions."""
    signature = types.void(types.uintp, types.uintp, types.intp, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, rows, start, stop = arguments
        table, rows = _pointer(builder, table, _ROW), _pointer(builder, rows, _I32)
        before = builder.block
        loop, done = builder.append_basic_block("rows"), builder.append_basic_block("done")
        builder.cbranch(builder.icmp_signed("<", start, stop), loop, done)
        builder.position_at_end(loop)
        at, union = builder.phi(_I64), builder.phi(_ROW)
        place = _row_at(builder, table, rows, at)
        grown, following = (
            builder.or_(union, builder.load(place, align=8)),
            builder.add(at, _I64(1)),
        )
        builder.store(grown, place, align=8)
        at.add_incoming(start, before)
        at.add_incoming(following, loop)
        union.add_incoming(ir.Constant(_ROW, None), before)
        union.add_incoming(grown, loop)
        builder.cbranch(builder.icmp_signed("<", following, stop), loop, done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def clear(typing_context, table, rows, start, stop):  # type: ignore[no-untyped-def]
    """Empty the rows of rows[start:stop]."""
    signature = types.void(types.uintp, types.uintp, types.intp, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, rows, start, stop = arguments
        table, rows = _pointer(builder, table, _ROW), _pointer(builder, rows, _I32)
        with cgutils.for_range_slice(builder, start, stop, _I64(1)) as (at, _):
            builder.store(ir.Constant(_ROW, None), _row_at(builder, table, rows, at), align=8)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def inside(typing_context, numbers, low, high):  # type: ignore[no-untyped-def]
    """The bits of those of 64 int32 numbers, at an address, that are above `low` and not above `high`."""
    signature = types.uint64(types.uintp, types.int32, types.int32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, low, high = arguments
        values = builder.load(_pointer(builder, numbers, _NUMBERS), align=4)

        def spread(number: Any) -> Any:
            single = builder.insert_element(ir.Constant(_NUMBERS, ir.Undefined), number, _I32(0))
            lanes = ir.Constant(ir.VectorType(_I32, 64), None)
            return builder.shuffle_vector(single, ir.Constant(_NUMBERS, ir.Undefined), lanes)

        above = builder.icmp_signed(">", values, spread(low))
        bits = builder.and_(above, builder.icmp_signed("<=", values, spread(high)))
        return builder.bitcast(bits, _I64)

    return signature, generate


@intrinsic
def popcount(typing_context, word):  # type: ignore[no-untyped-def]
    """How many bits of a word are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def lowest_bit(typing_context, word):  # type: ignore[no-untyped-def]
    """The number of the lowest bit set in a word that has one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@intrinsic
def double_bits(typing_context, value):  # type: ignore[no-untyped-def]
    """The bits of a double."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _I64)

    return types.int64(types.float64), generate
