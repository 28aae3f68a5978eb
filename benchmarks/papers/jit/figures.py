"""The settings of the paper's figures 10-17: what is varied, and the plans of its table II.

Bushy: N = 6, window 20 min, 1 tuple a second, dmax 200. Left-deep: N = 4, window 10 min, 1 a second, dmax 50, the last
source from a range a hundred times as large. One parameter is varied at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cqc.benchmarks.papers.jit.workload import Clique

BUSHY = Clique()
LEFT_DEEP = Clique(sources=4, window_s=600, dmax=50, wide_last=True)
# The defaults give hardly a result. Here most partial results are of use, and all contestants must find the same.
DENSE = Clique(sources=4, window_s=600, dmax=20)


@dataclass(frozen=True)
class Figure:
    """One figure: `points` are what is varied and the setting with it."""

    number: int
    join: str
    axis: str
    points: tuple[tuple[float, Clique], ...]

    @property
    def title(self) -> str:
        return f"Figure {self.number}: {self.axis}, {self.join} plan"


def figures() -> list[Figure]:
    """Figures 10-13 for bushy plans, 14-17 for left-deep ones."""
    found = []
    for first, join, base, minutes, sources, dmax in (
        (10, "bushy", BUSHY, (10, 15, 20, 25, 30), (4, 5, 6, 7, 8), (100, 150, 200, 250, 300)),
        (14, "left-deep", LEFT_DEEP, (5, 7.5, 10, 12.5, 15), (3, 4, 5, 6), (30, 40, 50, 60, 70)),
    ):
        windows = tuple((each, replace(base, window_s=60 * each)) for each in minutes)
        rates = tuple((each, replace(base, rate=each)) for each in (0.4, 0.7, 1.0, 1.3, 1.6))
        counts = tuple((float(each), replace(base, sources=each)) for each in sources)
        values = tuple((float(each), replace(base, dmax=each)) for each in dmax)
        for at, (axis, points) in enumerate(
            (
                ("window in minutes", windows),
                ("tuples a second", rates),
                ("number of sources", counts),
                ("dmax", values),
            )
        ):
            found.append(Figure(first + at, join, axis, points))
    return found
