"""Which requests could come from a page in a browser."""

from __future__ import annotations

import pytest

from cqc.runtime.networks.pages import PageGuard, header_of

HOST = (b"host", b"localhost:80")


@pytest.mark.parametrize(
    ("headers", "is_page", "is_heard"),
    [
        ([HOST], False, True),
        ([(b"host", b"[::1]:80")], False, True),
        ([(b"host", b"own.example")], False, True),
        ([(b"host", b"evil.example")], False, False),
        ([(b"host", b"10.0.0.1")], False, False),
        ([], False, False),
        ([HOST, (b"origin", b"http://localhost:80")], False, True),
        ([HOST, (b"origin", b"http://localhost:81")], False, False),
        ([HOST, (b"origin", b"null")], False, False),
        ([HOST, (b"sec-fetch-site", b"same-origin")], False, True),
        ([HOST, (b"sec-fetch-site", b"cross-site")], False, False),
        ([HOST, (b"sec-fetch-site", b"cross-site"), (b"sec-fetch-mode", b"navigate")], True, True),
        ([HOST, (b"sec-fetch-site", b"cross-site"), (b"sec-fetch-mode", b"cors")], True, False),
        ([HOST, (b"sec-fetch-site", b"cross-site"), (b"sec-fetch-mode", b"navigate")], False, False),
    ],
)  # fmt: skip
def test_requests_of_pages_are_not_heard(
    headers: list[tuple[bytes, bytes]], is_page: bool, is_heard: bool
) -> None:
    guard = PageGuard(["Own.example."], takes_addresses=False, hint="say {host}")
    assert (guard.refusal(headers, is_page=is_page) is None) is is_heard


def test_the_hint_names_the_host() -> None:
    guard = PageGuard(takes_addresses=True, hint="allow {host}")
    assert guard.refusal([(b"host", b"10.0.0.1")]) is None
    told = guard.refusal([(b"host", b"x.example:1")])
    assert told is not None
    assert told.endswith("'x.example'; if it should, allow x.example")


def test_the_last_value_of_a_header_counts() -> None:
    assert header_of([(b"a", b"1"), (b"a", b"2")], b"a") == b"2"
    assert header_of([], b"a") == b""
