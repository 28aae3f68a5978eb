"""A request that cannot be served, and why: what becomes a 4xx answer."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Why, in HTTP's numbers."""

    MALFORMED = 400
    FORBIDDEN = 403
    NOT_FOUND = 404
    CONFLICT = 409
    TOO_LARGE = 413
    UNSUPPORTED = 415
    INVALID = 422
    TOO_MANY = 429
    BUSY = 503
    TOO_SLOW = 504


class Refusal(Exception):  # noqa: N818 - not an error of ours
    """One clear sentence for whoever asked."""

    def __init__(self, status: Status, message: str) -> None:
        self.status = status
        super().__init__(message)
