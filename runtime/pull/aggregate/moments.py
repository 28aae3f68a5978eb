"""Variances, skewness, kurtosis, correlation: sums of powers of what lies between a value and the mean of its group.

The mean is taken first and the differences after it, so nothing is lost where values are large and close together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.bound import AggregateFunction as F

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _differences(
    values: NDArray[np.float64], groups: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    totals = np.bincount(groups, values, minlength=len(sizes))
    means = totals / np.maximum(sizes, 1)
    apart = values - means[groups]
    # Once more: what is left of the mean of the differences is the rounding of the first mean.
    rest = np.bincount(groups, apart, minlength=len(sizes)) / np.maximum(sizes, 1)
    return np.asarray(apart - np.where(np.isfinite(rest), rest, 0.0)[groups])


def moments(
    function: F, values: NDArray[np.float64], groups: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The moment of each group, and which groups have one."""
    sizes = np.bincount(groups, minlength=count)
    with np.errstate(all="ignore"):
        apart = _differences(values, groups, sizes)
        second = np.bincount(groups, apart * apart, minlength=count)
        if function in (F.STDDEV_POP, F.VAR_POP):
            found, there = second / sizes, sizes > 0
        elif function in (F.STDDEV_SAMP, F.VAR_SAMP):
            found, there = second / (sizes - 1), sizes > 1
        elif function is F.SKEWNESS:
            third = np.bincount(groups, apart**3, minlength=count)
            found = np.sqrt(sizes) * third / np.sqrt(second**3)
            there = (sizes > 0) & (second != 0)
        else:
            fourth = np.bincount(groups, apart**4, minlength=count)
            found = sizes * fourth / (second * second) - 3.0
            there = (sizes > 0) & (second != 0)
        if function in (F.STDDEV_POP, F.STDDEV_SAMP):
            found = np.sqrt(found)
    return np.asarray(found), np.asarray(there)


def pair_moments(
    function: F,
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    groups: NDArray[np.int64],
    count: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How two arguments go together in each group, and which groups have an answer."""
    sizes = np.bincount(groups, minlength=count)
    with np.errstate(all="ignore"):
        one, other = _differences(left, groups, sizes), _differences(right, groups, sizes)
        together = np.bincount(groups, one * other, minlength=count)
        if function is F.COVAR_POP:
            return together / sizes, sizes > 0
        if function is F.COVAR_SAMP:
            return together / (sizes - 1), sizes > 1
        first = np.bincount(groups, one * one, minlength=count)
        second = np.bincount(groups, other * other, minlength=count)
        there = (sizes > 0) & (first != 0) & (second != 0)
        return np.asarray(together / np.sqrt(first * second)), np.asarray(there)
