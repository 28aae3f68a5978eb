"""Names and addresses of hosts, however they are written."""

from __future__ import annotations

import pytest

from cqc.runtime.networks.hosts import host_name, is_address, is_loopback, plain_name


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.9.9.9", "::1", "[::1]"]
)
def test_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "10.0.0.1", "localhost.example", "127.0.0.1.example", "", "2130706433"],
)
def test_more_than_this_machine(host: str) -> None:
    assert not is_loopback(host)


def test_an_address_is_given_in_numbers() -> None:
    assert is_address("10.0.0.1")
    assert is_address("fe80::1")
    assert not is_address("example.com")
    assert not is_address("10.0.0")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("a.example:8765", "a.example"),
        ("a.example", "a.example"),
        ("[::1]:80", "::1"),
        ("[::1]", "::1"),
        ("", ""),
    ],
)
def test_the_name_in_a_host_header(header: str, name: str) -> None:
    assert host_name(header) == name


def test_names_are_compared_in_one_form() -> None:
    assert plain_name(" A.Example. ") == plain_name("a.example")
    assert plain_name("[::1]") == "::1"
