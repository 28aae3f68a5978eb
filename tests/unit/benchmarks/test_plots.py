"""Charts: every point is where its figures say, whatever the figures are."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from cqc.benchmarks.harness.plots import line_chart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SVG = "{http://www.w3.org/2000/svg}"


def _lines(chart: str) -> list[list[tuple[float, float]]]:
    """The places of each series' points in the picture."""
    polylines = ET.fromstring(chart).findall(f"{SVG}polyline")
    return [
        [
            (float(x), float(y))
            for x, y in (pair.split(",") for pair in (line.get("points") or "").split())
        ]
        for line in polylines
    ]


def _texts(chart: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(chart).iter(f"{SVG}text")]


def test_more_is_higher_and_later_is_further_right() -> None:
    (line,) = _lines(line_chart("t", "x", "y", {"a": [(0, 1), (10, 5), (20, 3)]}))
    (x0, y0), (x1, y1), (x2, y2) = line
    assert x0 < x1 < x2
    assert y1 < y2 < y0  # y counts downwards in a picture
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert (y0 - y2) == pytest.approx((y0 - y1) / 2, abs=0.2)


def test_a_logarithmic_axis_gives_equal_steps_to_equal_ratios() -> None:
    chart = line_chart("t", "x", "y", {"a": [(1, 1), (10, 10), (100, 100)]}, log_x=True, log_y=True)
    (x0, y0), (x1, y1), (x2, y2) = _lines(chart)[0]
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2)


def test_powers_of_two_have_ticks_of_their_own() -> None:
    points = [(2.0**power, 1.0 + power) for power in range(7, 17)]
    texts = _texts(line_chart("t", "window", "us", {"kept": points}, log_x=True))
    assert {"128", "1,024", "65,536"} <= set(texts)


def test_titles_labels_and_names_are_there_and_escaped() -> None:
    chart = line_chart("a < b & c", "so many", "µs", {"x & y": [(1, 2)], "z": [(1, 3)]})
    assert {"a < b & c", "so many", "µs", "x & y", "z"} <= set(_texts(chart))


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "series",
    [
        {},
        {"none": []},
        {"one": [(5, 5)]},
        {"flat": [(1, 7), (2, 7)]},
        {"not positive": [(0, 0), (-1, -3), (4, 2)]},
        {"not finite": [(1, math.nan), (2, math.inf), (3, 9)]},
        {"tiny": [(1e-9, 1e-12), (3e-9, 2e-12)]},
        {"huge": [(1, 3e15), (1e12, 4e-3)]},
    ],
)
def test_any_figures_give_a_picture_with_all_its_points_inside(
    series: Mapping[str, Sequence[tuple[float, float]]], log: bool
) -> None:
    chart = line_chart("t", "x", "y", series, log_x=log, log_y=log)
    root = ET.fromstring(chart)
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    for x, y in (point for line in _lines(chart) for point in line):
        assert 0 <= x <= width
        assert 0 <= y <= height
    shown = [
        [(x, y) for x, y in points if math.isfinite(y) and not (log and (x <= 0 or y <= 0))]
        for points in series.values()
    ]
    assert list(map(len, _lines(chart))) == list(map(len, shown))
    assert "nan" not in chart
    assert 2 <= sum(element.get("class") == "grid" for element in root.iter(f"{SVG}line")) <= 60
