"""Juggler's input: monitors of one patient (blood, heart, temperature, kidney) and the queries of its chapter 5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.benchmarks.harness.side_by_side import micro_batches
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.runtime.intake.typed_batch import TypedBatch

COLUMNS = {
    "B": ("pressure", "temp", "k"),
    "H": ("beatrate", "vib", "k"),
    "T": ("fluct", "degree", "k"),
    "K": ("flow", "salt", "k"),
}
_WHOLE = "k"  # equal keys where a setting joins by them


@dataclass(frozen=True)
class Setting:
    """Rates, and the range from which each column's values are drawn."""

    seconds: int
    rate: int  # tuples a second and stream
    batch_s: float
    ranges: Mapping[str, tuple[float, float]]

    def batches(self, streams: str, seed: int = 4) -> list[dict[str, TypedBatch]]:
        """The streams' tuples in micro-batches."""
        random = np.random.default_rng(seed)
        count = self.seconds * self.rate
        found, types = {}, {"ts": ColumnType.TIMESTAMP}
        for name in streams:
            columns = {"ts": np.sort(random.integers(0, self.seconds * 1_000_000, count))}
            for column in COLUMNS[name]:
                low, high = self.ranges.get(f"{name}.{column}", (0.0, 200.0))
                if column == _WHOLE:
                    columns[column] = random.integers(int(low), int(high), count)
                    types[column] = ColumnType.BIGINT
                else:
                    columns[column] = np.round(random.uniform(low, high, count), 1)
                    types[column] = ColumnType.DOUBLE
            found[name] = columns
        return micro_batches(found, types, int(self.batch_s * 1_000_000))


def declarations(streams: str) -> str:
    """The streams of a program."""
    lines = []
    for name in streams:
        columns = ", ".join(
            f"{column} {'BIGINT' if column == _WHOLE else 'DOUBLE'}" for column in COLUMNS[name]
        )
        lines.append(f"CREATE STREAM {name} (ts TIMESTAMP, {columns});\n")
    return "".join(lines)


# Four streams, joined in a ring by whole numbers: every shape of a plan can start with an equality.
FOUR = """SELECT B.pressure, H.vib, T.fluct, K.flow FROM B, H, T, K
WHERE B.k = H.k AND H.k = T.k AND T.k = K.k AND B.pressure < 150 AND B.temp <= T.degree MAXWINDOW 4 SEC;
"""
# One tuple in twenty of B and T agrees in more than the key: it matters when the two meet.
FOUR_SETTING = Setting(
    seconds=60,
    rate=120,
    batch_s=1.0,
    ranges={**{f"{name}.k": (0, 100) for name in COLUMNS}, "T.degree": (0, 20)},
)
SHAPES = {
    "BH_TK": "((B H) (T K))", "BK_TH": "((B K) (T H))", "TB_HK": "((T B) (H K))",
    "BHT_K": "((B H T) K)", "BKT_H": "((B K T) H)", "BHK_T": "((B H K) T)",
}  # fmt: skip

# The query of figure 5.8, over input in which one type of predicate after the other is the selective one.
REORDERED = """SELECT B.pressure, H.vib, T.fluct FROM B, H, T
WHERE B.pressure < 90 AND H.beatrate > 115 AND B.pressure <= H.vib AND T.fluct < 200 AND B.temp <= T.degree
  AND H.vib <= T.fluct
WINDOW B.ts <= T.ts AND H.ts <= T.ts AND B.ts <= H.ts MAXWINDOW 20 SEC;
"""
KEYED = """SELECT B.pressure, H.vib FROM B, H
WHERE B.pressure < 180 AND B.k = H.k AND H.vib > 20 WINDOW B.ts <= H.ts MAXWINDOW 40 MS;
"""
REGIMES = {
    "attributes are selective (figure 5.8)": (
        "BHT", REORDERED,
        Setting(120, 10, 1.0, {"B.pressure": (60, 260), "H.beatrate": (40, 130), "H.vib": (0, 200), "T.fluct": (0, 400),
                              "B.temp": (95, 105), "T.degree": (95, 105)}),
    ),
    "joins are selective": (
        "BHT", REORDERED,
        Setting(120, 10, 1.0, {"B.pressure": (60, 95), "H.beatrate": (110, 200), "H.vib": (0, 62), "T.fluct": (0, 210),
                              "B.temp": (95, 105), "T.degree": (95, 105)}),
    ),
    "windows are selective": (
        "BH", KEYED, Setting(72, 300, 2.0, {"B.k": (0, 4), "H.k": (0, 4)}),
    ),
}  # fmt: skip

OVERLAP_SETTING = Setting(40, 20, 1.0, {
    "B.pressure": (80, 140), "B.temp": (85, 135), "H.beatrate": (100, 130), "H.vib": (20, 120),
})  # fmt: skip
_WINDOW = "WINDOW B.ts {} H.ts MAXWINDOW 20 SEC"
OVERLAPS: dict[str, tuple[tuple[str, str], ...]] = {
    "25%": (
        (">", "B.pressure < 90 AND B.pressure > H.vib"),
        ("<=", "B.pressure < 115 AND H.beatrate > 115 AND B.pressure <= H.vib * 2 AND B.pressure < H.beatrate"),
        ("<=", ("B.pressure < 116 AND H.beatrate >= 115 AND H.vib > 80 AND B.pressure <= H.vib * 3 AND B.pressure > H.beatrate"
               " AND B.temp > H.beatrate")),
        (">", ("B.pressure < 117 AND H.beatrate < 115 AND H.vib < 80 AND B.temp > 90 AND B.pressure <= H.vib * 4"
              " AND B.pressure = H.beatrate AND B.temp >= H.beatrate AND B.temp > H.vib")),
        (">=", ("B.pressure < 118 AND H.beatrate = 115 AND H.vib = 100 AND B.temp = 98 AND B.pressure > H.vib"
               " AND B.pressure >= H.beatrate AND B.temp < H.beatrate AND B.temp >= H.vib")),
    ),
    "50%": (
        (">=", "B.pressure < 110 AND B.pressure <= H.vib"),
        (">=", "B.pressure > 113 AND H.beatrate > 110 AND B.pressure >= H.vib AND B.pressure > H.beatrate"),
        (">=", ("B.pressure > 115 AND H.beatrate >= 110 AND H.vib > 80 AND B.pressure >= H.vib * 2 AND B.pressure < H.beatrate"
               " AND B.temp > H.beatrate")),
        (">=", ("B.pressure > 117 AND H.beatrate < 110 AND H.vib < 80 AND B.temp > 90 AND B.pressure >= H.vib * 3"
               " AND B.pressure = H.beatrate AND B.temp >= H.beatrate AND B.temp >= H.vib")),
        (">=", ("B.pressure > 120 AND H.beatrate = 115 AND H.vib = 100 AND B.temp = 98 AND B.pressure >= H.vib * 4"
               " AND B.pressure >= H.beatrate AND B.temp < H.beatrate AND B.temp <= H.vib")),
    ),
    "75%": (
        ("<=", "B.pressure < 110 AND B.pressure <= H.vib"),
        ("<=", "B.pressure < 113 AND H.beatrate > 115 AND B.pressure <= H.vib AND B.temp > H.beatrate"),
        ("<=", ("B.pressure < 115 AND H.beatrate > 117 AND H.vib > 80 AND B.pressure <= H.vib * 2 AND B.temp > H.beatrate * 2"
               " AND B.pressure < H.beatrate")),
        ("<=", ("B.pressure < 117 AND H.beatrate > 120 AND H.vib < 80 AND B.temp > 90 AND B.pressure <= H.vib * 3"
               " AND B.temp > H.beatrate * 3 AND B.pressure = H.beatrate AND B.temp >= H.vib")),
        ("<=", ("B.pressure < 120 AND H.beatrate > 125 AND H.vib = 100 AND B.temp = 98 AND B.pressure <= H.vib * 4"
               " AND B.temp > H.beatrate * 4 AND B.pressure >= H.beatrate AND B.temp = H.vib")),
    ),
}  # fmt: skip


def overlapping(percent: str) -> str:
    """The five queries of figures 5.13 to 5.15."""
    return "".join(
        f"SELECT B.pressure, H.vib FROM B, H WHERE {where} {_WINDOW.format(after)};\n"
        for after, where in OVERLAPS[percent]
    )
