"""Kernels of networks and places on the earth (the compiler's `functions/places.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.networks import PRIVATE, ranges_of
from cqc.runtime.expressions.row_by_row import constant_text
from cqc.runtime.networks.addresses import read_addresses, six_keys

if TYPE_CHECKING:
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.arithmetic import Outcome
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel

_EARTH_KM = 6371.0088


@lru_cache(maxsize=4096)
def _cuts(nets: tuple[str, ...]) -> tuple[Any, Any]:
    """The ends of the nets: an address is inside where an odd number of them is at or below it."""
    four = [end for first, last in ranges_of(nets, 4) for end in (first, last + 1)]
    six = [end for first, last in ranges_of(nets, 6) for end in (first, last + 1)]
    # Beyond the last address of all is nothing, so what ends there needs no end.
    wide = [end.to_bytes(16) for end in six if end < 2**128]
    return np.array(four, np.uint64), np.array(wide, "S16")


def _is_in(address: Column, nets: tuple[str, ...]) -> Outcome:
    values = address.values
    is_one = isinstance(values, pa.Scalar)
    texts = pa.array([values.as_py()], pa.string()) if is_one else values
    version, high, low = read_addresses(texts)
    four, six = _cuts(nets)
    found = np.zeros(len(version), np.bool_)
    for number, cuts, keys in ((4, four, low), (6, six, six_keys(high, low))):
        own = version == number
        if len(cuts) and own.any():
            found[own] = np.searchsorted(cuts, keys[own], side="right") % 2 == 1
    return (np.asarray(found[0]) if is_one else found), None


def _cidr_match(address: Column, *nets: Column) -> Outcome:
    return _is_in(address, tuple(map(constant_text, nets)))


def _haversine(*columns: Column) -> Outcome:
    with np.errstate(all="ignore"):
        lat1, lon1, lat2, lon2 = (np.radians(column.values) for column in columns)
        chord = np.sin((lat2 - lat1) / 2) ** 2
        chord = chord + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
        return np.asarray(2 * _EARTH_KM * np.arcsin(np.minimum(1.0, np.sqrt(chord)))), None


KERNELS: dict[str, Kernel] = {
    "cidr_match": _cidr_match,
    "is_private_ip": lambda address: _is_in(address, PRIVATE),
    "haversine": _haversine,
}

PARTIAL_KERNELS: dict[str, PartialKernel] = {}

NODES: dict[str, NodeMaker] = {}
