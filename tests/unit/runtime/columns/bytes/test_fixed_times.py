"""Times in layouts of fixed width, beside Python's own reader."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pyarrow as pa

from cqc.compiler.meaning.times.time_patterns import Piece, pieces_of
from cqc.runtime.columns.bytes.fixed_times import FixedLayout


def layout(pattern: str) -> FixedLayout | None:
    pieces = pieces_of(pattern, needs_year=False)
    assert not isinstance(pieces, str)
    return FixedLayout.of(pieces)


def test_layouts_with_parts_of_any_width_are_not_fixed() -> None:
    for pattern in ("yyyy-M-d", "yyyy-MM-dd[ HH:mm]", "yyyy MMM dd", "yyyy-MM-dd HH:mm:ss.SSS"):
        assert layout(pattern) is None
    assert FixedLayout.of([Piece("offset", r"Z")]) is None


def test_times_are_read_where_the_calendar_has_them() -> None:
    fixed = layout("dd.MM.yyyy 'um' HH:mm:ss")
    assert fixed is not None
    chosen = random.Random(8)
    texts = [
        f"{chosen.randint(0, 32):02d}.{chosen.randint(0, 13):02d}.{chosen.randint(0, 9999):04d} um "
        f"{chosen.randint(0, 24):02d}:{chosen.randint(0, 60):02d}:{chosen.randint(0, 60):02d}"
        for _ in range(3_000)
    ]
    texts += ["29.02.2023 um 00:00:00", "29.02.2024 um 23:59:59", "", "29.02.2024 Um 23:59:59"]
    us, fits = fixed.read(pa.array(texts))
    for text, got, fit in zip(texts, us.tolist(), fits.tolist(), strict=True):
        try:
            right = datetime.strptime(text, "%d.%m.%Y um %H:%M:%S").replace(tzinfo=UTC)
        except ValueError:
            assert not fit, text
            continue
        if "Um" in text:  # strptime does not look at the case of letters
            assert not fit
            continue
        assert fit, text
        assert got == (right - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e6


def test_a_time_without_a_day_is_one_of_1970() -> None:
    fixed = layout("HH:mm")
    assert fixed is not None
    us, fits = fixed.read(pa.array(["01:30"]))
    assert (us.tolist(), fits.tolist()) == ([5_400_000_000], [True])
