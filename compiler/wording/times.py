"""Time bounds in words: `T before B, by up to 6 s`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.wording.expressions import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.compiler.meaning.normal import TimeBounds


def pair_texts(bounds: TimeBounds, aliases: Sequence[str]) -> Iterator[str]:
    """How far apart each pair of streams may be; pairs that nothing bounds are left out."""
    streams = [at for at in range(len(aliases)) if bounds.most_us[at][at] is not None]
    for place, first in enumerate(streams):
        for second in streams[place + 1 :]:
            most, least = bounds.most_us[first][second], bounds.most_us[second][first]
            if most is not None or least is not None:
                lowest = None if least is None else -least
                yield distance_text(aliases[first], aliases[second], lowest, most)


def distance_text(first: str, second: str, lowest: int | None, highest: int | None) -> str:
    """In words that lowest <= ts_second - ts_first <= highest (microseconds, None for no limit)."""
    if lowest is None and highest is None:
        return f"{second} at any distance from {first}"
    if lowest is None:
        return f"{second} {_one_side(-(highest or 0), 'before', 'after')} {first}"
    if highest is None:
        return f"{second} {_one_side(lowest, 'after', 'before')} {first}"
    if lowest == highest == 0:
        return f"{second} at the same time as {first}"
    if lowest == -highest:
        return f"{second} within {duration_text(highest)} of {first}"
    if lowest >= 0:
        return _both_sides(first, second, lowest, highest, "after")
    if highest <= 0:
        return _both_sides(first, second, -highest, -lowest, "before")
    return (
        f"{second} from {duration_text(-lowest)} before to {duration_text(highest)} after {first}"
    )


def _one_side(least_us: int, towards: str, away: str) -> str:
    """At least so much after (or before), or at most so much on the other side."""
    if least_us == 0:
        return f"at or {towards}"
    if least_us == 1:
        return towards
    if least_us > 1:
        return f"at least {duration_text(least_us)} {towards}"
    return f"any time {towards}, or at most {duration_text(-least_us)} {away}"


def _both_sides(first: str, second: str, least: int, most: int, towards: str) -> str:
    if least == most:
        return f"{second} {duration_text(least)} {towards} {first}"
    if least == 0:
        return f"{second} at or {towards} {first}, by up to {duration_text(most)}"
    if least == 1:
        return f"{second} {towards} {first}, by up to {duration_text(most)}"
    return f"{second} {duration_text(least)} to {duration_text(most)} {towards} {first}"
