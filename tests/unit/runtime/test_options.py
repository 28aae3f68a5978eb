"""How a run is asked for: instants and packets as users write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.runtime.options import RunOptions, parse_instant, parse_packet

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("5", 5_000_000),
        ("-0.5", -500_000),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("timestamp '1970-01-01'", 0),
    ],
)
def test_an_instant_is_a_number_of_seconds_or_a_timestamp(text: str, us: int) -> None:
    assert parse_instant(text) == us


@pytest.mark.parametrize("text", ["", "soon", "inf", "nan", "1e400", "TIMESTAMP 5"])
def test_anything_else_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError, match="--at wants an instant"):
        parse_instant(text)


def test_a_packet_has_so_many_tuples_or_as_many_as_pay() -> None:
    assert (parse_packet("auto"), parse_packet("64")) == (None, 64)


@pytest.mark.parametrize("text", ["0", "-1", "many", "", "\u00b2", "\u0663"])
def test_anything_else_is_no_packet(text: str) -> None:
    with pytest.raises(ValueError, match="--packet wants auto or a number"):
        parse_packet(text)


def test_queries_may_change_where_a_folder_of_programs_is_followed(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert RunOptions(programs=(folder,), follow=True).is_live
    assert not RunOptions(programs=(folder,)).is_live
    assert not RunOptions(programs=("p.cq",), follow=True).is_live
