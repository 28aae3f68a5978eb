"""Tokens from files and from the environment, never from the command line: there everybody on the machine could read them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cqc.runtime.serve.http.tokens import Tokens

TOKEN_VARIABLE = "CQC_TOKEN"
READ_TOKEN_VARIABLE = "CQC_READ_TOKEN"
USER_TOKENS_VARIABLE = "CQC_USER_TOKENS"
_LONGEST_NAME = 100


def read_token(path: str | None, variable: str = TOKEN_VARIABLE) -> str | None:
    """The token of a file, else of the environment, else none.

    Raises:
        click.UsageError: when the file cannot be read, or the token is empty or holds odd characters.
    """
    text = _text(path, variable)
    return None if text is None else _checked(text.strip(), path or variable)


def read_tokens(admin: str | None, users: str | None, reader: str | None) -> Tokens:
    """All tokens that a service is to know, from files or the environment.

    Raises:
        click.UsageError: when one of them is none, or two are the same.
    """
    from cqc.runtime.serve.http.tokens import Tokens

    tokens = Tokens(
        admin=read_token(admin),
        users=_read_users(users),
        reader=read_token(reader, READ_TOKEN_VARIABLE),
    )
    given = [each for each in (tokens.admin, tokens.reader, *tokens.users.values()) if each]
    if len(set(given)) < len(given):
        raise click.UsageError("two of the tokens are the same, so nobody could tell whose it is")
    return tokens


def _read_users(path: str | None) -> dict[str, str]:
    text = _text(path, USER_TOKENS_VARIABLE)
    place = path or USER_TOKENS_VARIABLE
    lines = [] if text is None else text.splitlines()
    pairs = [pair for line in lines if not line.lstrip().startswith("#") for pair in line.split()]
    found: dict[str, str] = {}
    for number, pair in enumerate(pairs, 1):  # what is wrong is told by its number, and never shown
        name, equals, token = pair.partition("=")
        if not (name and equals and name.isprintable() and len(name) <= _LONGEST_NAME):
            raise click.UsageError(f"{place}: entry {number} is not NAME=TOKEN")
        if name in found:
            raise click.UsageError(f"{place}: entry {number} has the name of one before")
        found[name] = _checked(token, f"{place}, entry {number}")
    return found


def _text(path: str | None, variable: str) -> str | None:
    if path is None:
        return os.environ.get(variable)
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"cannot read a token from {path}") from error


def _checked(token: str, place: str) -> str:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise click.UsageError(f"{place}: the token must be printable ASCII text without spaces")
    return token
