"""Names that users choose, as names of folders."""

from __future__ import annotations

from urllib.parse import quote


def folder_name(name: str) -> str:
    """A name that stays inside of the folder where it is put: no separators, and neither `.` nor `..`."""
    quoted = quote(name, safe="")
    return quoted.replace(".", "%2E") if quoted in (".", "..") else quoted
