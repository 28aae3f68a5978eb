"""What others have published of Nexmark, in events a second and core; measured by them, on other machines."""

from __future__ import annotations

_FLINK = "155 158 175 152 34 22 - 12 146 14 - 40 76 131 161 72 19 117 54 44 19 98 130"
_FELDERA = "436 412 422 413 265 412 250 196 415 57 - - 418 230 429 221 51 242 85 75 85 415 394"


def _figures(thousands: str) -> dict[str, float]:
    listed = enumerate(thousands.split())
    return {f"q{number}": 1_000.0 * int(each) for number, each in listed if each != "-"}


FLINK = _figures(_FLINK)  # 8 slots, RocksDB, 100M events
FELDERA = _figures(_FELDERA)  # its table for 16 cores, divided by 16
PROJECTIONS = frozenset({"q0", "q1", "q10", "q13", "q21", "q22"})
