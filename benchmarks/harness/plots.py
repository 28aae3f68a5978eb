"""Line charts as SVG text, for what the benchmarks measured.

    line_chart("Response time", "window", "us", {"kept": [(128, 20.1), (256, 20.4)]}, log_x=True, log_y=True)

Each series has a colour and a mark of its own (colours that people with colour-blindness can tell apart), axes have round ticks,
and hovering over a mark shows its figures. A logarithmic axis leaves out what is not positive; no axis shows what is not finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Point = tuple[float, float]
    Series = Mapping[str, Sequence[Point]]

_WIDTH, _HEIGHT = 760, 440
_LEFT, _TOP, _BOTTOM = 84, 52, 58
_LETTER = 7.2  # about the width of a letter
_MOST_TICKS = 9
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#4d4d4d", "#a6761d")
_STYLE = (
    "text{font:13px sans-serif;fill:#222}.title{font-size:16px;font-weight:bold}"
    ".grid{stroke:#e3e3e3}.axis{stroke:#555}.line{fill:none;stroke-width:2}"
)


@dataclass(frozen=True, slots=True)
class _Axis:
    """A stretch of numbers laid on a stretch of the picture, with its ticks."""

    ticks: tuple[float, ...]
    low: float  # in the axis's own measure: the logarithm on a logarithmic axis
    high: float
    first: float  # where low and high are in the picture
    last: float
    log: bool

    def at(self, value: float) -> float:
        measure = math.log10(value) if self.log else value
        return self.first + (self.last - self.first) * (measure - self.low) / (self.high - self.low)


def line_chart(
    title: str,
    x_label: str,
    y_label: str,
    series: Series,
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> str:
    """A chart of several series of (x, y) points, in the order of x, as one SVG document."""
    drawn = {
        name: sorted(
            point for point in points if _shown(point[0], log_x) and _shown(point[1], log_y)
        )
        for name, points in series.items()
    }
    legend = 66 + round(_LETTER * max(map(len, drawn), default=0))
    right, bottom = _WIDTH - legend, _HEIGHT - _BOTTOM
    points = [point for each in drawn.values() for point in each]
    across = _axis([x for x, _ in points], _LEFT, right, log_x, from_zero=False)
    up = _axis([y for _, y in points], bottom, _TOP, log_y, from_zero=True)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        _text((_LEFT + right) / 2, 26, title, "middle", "title"),
        *_frame(across, up),
        _text((_LEFT + right) / 2, _HEIGHT - 14, x_label, "middle"),
        f'<text transform="translate(20 {(_TOP + bottom) / 2:.1f}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>',
    ]
    for at, (name, shown) in enumerate(drawn.items()):
        lines += _series(at, name, shown, across, up)
        lines += _legend(at, name, right + 18, _TOP + 10 + 22 * at)
    return "\n".join([*lines, "</svg>", ""])


def _shown(value: float, log: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not log)


def _axis(
    values: Sequence[float], first: float, last: float, log: bool, *, from_zero: bool
) -> _Axis:
    if log:
        ticks = _log_ticks(min(values, default=1.0), max(values, default=10.0))
        low, high = math.log10(ticks[0]), math.log10(ticks[-1])
    else:
        least, most = min(values, default=0.0), max(values, default=1.0)
        ticks = _even_ticks(min(least, 0.0) if from_zero else least, most)
        low, high = ticks[0], ticks[-1]
    return _Axis(ticks, low, high, first, last, log)


def _even_ticks(low: float, high: float) -> tuple[float, ...]:
    """Round numbers at equal distances, from at or below `low` to at or above `high`."""
    if high <= low:
        high = low + (abs(low) or 1.0)
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    begin, end = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(at * step for at in range(begin, end + 1))


def _log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Powers of two where the numbers are such (windows, counts), else 1, 2, 5 of each decade or its powers of ten."""
    if _is_power_of_two(low) and _is_power_of_two(high) and low < high:
        first, last = round(math.log2(low)), round(math.log2(high))
        step = -(-(last - first) // _MOST_TICKS)
        powers = list(range(first, last + 1, step))
        powers += [last] if powers[-1] != last else []
        return tuple(2.0**power for power in powers)
    if high / low < 50:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        fine = [factor * 10.0**decade for decade in decades for factor in (1, 2, 5)]
        begin = max(at for at, tick in enumerate(fine) if at == 0 or tick <= low * 1.0001)
        end = min(
            at
            for at, tick in enumerate(fine)
            if at == len(fine) - 1 or (tick >= high * 0.9999 and at > begin)
        )
        return tuple(fine[begin : end + 1])
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    step = -(-(last - first) // _MOST_TICKS)
    return tuple(10.0**power for power in range(first, last + step, step))


def _is_power_of_two(value: float) -> bool:
    return value >= 2 and float(value).is_integer() and (int(value) & (int(value) - 1)) == 0


def _frame(across: _Axis, up: _Axis) -> Iterator[str]:
    """The grid with the numbers beside it, and the two axes."""
    left, right, bottom, top = across.first, across.last, up.first, up.last
    for tick in up.ticks:
        y = up.at(tick)
        yield f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield _text(left - 8, y + 4.5, _number(tick), "end")
    for tick in across.ticks:
        x = across.at(tick)
        yield f'<line class="grid" x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{top}"/>'
        yield _text(x, bottom + 20, _number(tick), "middle")
    yield f'<path class="axis" fill="none" d="M{left} {top}V{bottom}H{right}"/>'


def _series(at: int, name: str, points: Sequence[Point], across: _Axis, up: _Axis) -> Iterator[str]:
    colour = _COLOURS[at % len(_COLOURS)]
    places = [(across.at(x), up.at(y)) for x, y in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline class="line" stroke="{colour}" points="{path}"/>'
    for (x, y), (right, above) in zip(places, points, strict=True):
        told = escape(f"{name}: {_number(above)} at {_number(right)}")
        yield f"<g><title>{told}</title>{_mark(at, x, y, colour)}</g>"


def _legend(at: int, name: str, x: float, y: float) -> Iterator[str]:
    colour = _COLOURS[at % len(_COLOURS)]
    yield f'<line class="line" stroke="{colour}" x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}"/>'
    yield _mark(at, x + 12, y, colour)
    yield _text(x + 31, y + 4.5, name, "start")


def _mark(at: int, x: float, y: float, colour: str) -> str:
    """A circle, a square, a diamond or a triangle."""
    match at % 4:
        case 0:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
        case 1:
            return (
                f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{colour}"/>'
            )
        case 2:
            return f'<path d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z" fill="{colour}"/>'
        case _:
            return f'<path d="M{x:.1f} {y - 5:.1f}l5 9h-10z" fill="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _number(value: float) -> str:
    """A number as short as it is read: 65,536, 0.25, 5M."""
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    if value == 0 or abs(value) >= 1:
        return f"{value:,.6g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:.3g}"
