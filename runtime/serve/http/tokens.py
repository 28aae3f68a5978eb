"""Tokens, and what whoever shows one may do: everything, work with their own queries, or look.

Only digests are kept. What is shown is compared with all of them, each in constant time, so that neither the answer nor how long
it takes tells anything of a token that is not the caller's.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Role(IntEnum):
    """What a caller may do; each may do what those before may."""

    READER = 1  # list, invoke, watch, metrics
    USER = 2  # also push rows, register queries, and remove those again
    ADMIN = 3  # also remove queries of others


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever makes a request; `name` is that of a user's token."""

    role: Role
    name: str | None = None


ANYBODY = Caller(Role.ADMIN)  # where there are no tokens, on this machine alone


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that a service knows; none at all for one that trusts everybody who can reach it.

    Args:
        admin: may do everything.
        users: by the name of the user.
        reader: may look.
    """

    admin: str | None = field(default=None, repr=False)
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    reader: str | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return bool(self.users) or self.admin is not None or self.reader is not None


class TokenBook:
    """Says who shows a token."""

    def __init__(self, tokens: Tokens) -> None:
        self._callers = [
            (_digest(token.encode()), caller)
            for token, caller in (
                (tokens.admin, Caller(Role.ADMIN)),
                (tokens.reader, Caller(Role.READER)),
                *((token, Caller(Role.USER, name)) for name, token in tokens.users.items()),
            )
            if token is not None
        ]

    def __bool__(self) -> bool:
        return bool(self._callers)

    def caller_of(self, authorization: bytes) -> Caller | None:
        """Whose token an Authorization header shows; None for nobody's."""
        scheme, _, given = authorization.partition(b" ")
        shown = _digest(given.strip())
        found: Caller | None = None
        for digest, caller in self._callers:  # to the end, so that the time tells nothing
            if hmac.compare_digest(shown, digest):
                found = caller
        return found if scheme.lower() == b"bearer" else None


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()
