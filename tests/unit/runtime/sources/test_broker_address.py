"""Where brokers are, and what is said when they are not there."""

from __future__ import annotations

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.sources.broker_address import BrokerAddress


def address(options: str) -> BrokerAddress:
    text = f"CREATE STREAM s (ts BIGINT) WITH (format = 'mqtt', {options})"
    return BrokerAddress(cqc.compile(text).catalog.relations["s"], 1883)


@pytest.mark.parametrize(
    ("given", "host", "port"),
    [("broker", "broker", 1883), ("broker:99", "broker", 99), ("[::1]:7", "::1", 7)],
)
def test_a_port_may_be_left_out(given: str, host: str, port: int) -> None:
    found = address(f"address = '{given}', topic = 't'")
    assert (found.host, found.port) == (host, port)


@pytest.mark.parametrize(
    "options", ["topic = 't'", "address = 'a'", "address = 'a:b', topic = 't'"]
)
def test_what_is_missing_is_told(options: str) -> None:
    with pytest.raises(RunError, match="s needs WITH"):
        address(options)


def test_no_message_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_WORD", "hush-hush")
    found = address("address = 'a', topic = 't', user = 'me', password = ENV('BROKER_WORD')")
    assert found.password == "hush-hush"
    told = str(found.cannot_read("no entry for me/hush-hush"))
    assert "hush-hush" not in told
    assert "ENV('BROKER_WORD')" in told
