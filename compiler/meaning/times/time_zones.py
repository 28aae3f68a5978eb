"""Zones by the names that functions are given: `Europe/Berlin`, `UTC`, `+01:00`, `GMT+1`, and the short names that Java keeps."""

from __future__ import annotations

import re
from datetime import timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING

from cqc.compiler.meaning.times.time_patterns import zone_named

if TYPE_CHECKING:
    from datetime import tzinfo

_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
}
_OFFSET = re.compile(
    r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}))?|(\d{2})(\d{2})?)?", re.ASCII
)
_MOST_MINUTES = 18 * 60


@lru_cache(maxsize=256)
def zone_called(name: str) -> tzinfo | None:
    """The zone of a name; None where there is none."""
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or offset[5] or 0)
        seconds = int(offset[4] or offset[6] or 0)
        if minutes + seconds / 60 > _MOST_MINUTES or minutes % 60 > 59 or seconds > 59:
            return None
        size = timedelta(minutes=minutes, seconds=seconds)
        return timezone(-size if offset[1] == "-" else size)
    if name in ("GMT", "UT", "GMT0"):
        return zone_named("UTC")
    if name and name.upper() == name.lower():
        return None
    return zone_named(_SHORT.get(name, name)) if name else None
