"""Keywords look at all columns of a stream; networks hold their addresses and no others."""

from __future__ import annotations

import ipaddress
import random

import pytest

pytest.importorskip("sigma.rule")

from tests.support.sigma.reference import rule_matches
from tests.support.sigma.running import LOGSOURCE, convert, found


def rule(detection: object, title: str = "r") -> dict[str, object]:
    return {"title": title, "logsource": LOGSOURCE, "detection": {"s": detection, "condition": "s"}}


def test_keywords_look_at_columns_that_other_rules_bring() -> None:
    program = convert([rule(["needle", 77]), rule({"Other": "x"}, "other")])
    events = [
        (0.0, {"Other": "a NEEDLE here"}),
        (1.0, {"message": "needle"}),
        (2.0, {"message": "nothing"}),
        (3.0, {"Other": "1772"}),
    ]
    assert [time for time, _ in found(program, events)["r"]] == [0.0, 1.0, 3.0]


@pytest.mark.parametrize("size", [0, 4, 8, 13, 15, 16, 20, 24, 28, 31, 32])
def test_a_network_has_its_addresses_and_no_others(size: int) -> None:
    rng = random.Random(size)
    network = ipaddress.ip_network((rng.getrandbits(32) >> (32 - size) << (32 - size), size))
    addresses = (
        [
            *(network[0], network[-1]),
            *(network[rng.randrange(network.num_addresses)] for _ in range(5)),
            *(ipaddress.ip_address(rng.getrandbits(32)) for _ in range(5)),
            *(address for address in (network[0] - 1, network[-1] + 1) if size > 0),
        ]
        if size
        else [ipaddress.ip_address(rng.getrandbits(32)) for _ in range(9)]
    )
    texts = [*map(str, addresses), "1.2.3", "a.b.c.d", f"{network[0]} ", f"x{network[0]}"]
    events = [(float(at), {"ip": text}) for at, text in enumerate(texts)]
    program = convert([rule({"ip|cidr": str(network)})])
    expected = [float(at) for at, address in enumerate(addresses) if address in network]
    assert [time for time, _ in found(program, events)["r"]] == expected


@pytest.mark.parametrize("network", ["fe80::/10", "2001:db8::/32", "::/0", "::1/128", "10.0.0.0/8"])
def test_networks_of_both_kinds_hold_what_the_reference_says(network: str) -> None:
    texts = [
        "fe80::1",
        "FE80:0:0::1",
        "2001:db8::",
        "2001:db9::1",
        "::1",
        "::2",
        "10.1.2.3",
        "11.1.2.3",
    ]
    texts += ["::ffff:10.1.2.3", "::ffff:11.1.2.3", "", "fe80::1::", "fe80::g", "1.2.3.4.5"]
    asked = rule({"ip|cidr": network})
    events = [(float(at), {"ip": text}) for at, text in enumerate(texts)]
    expected = [time for time, event in events if rule_matches(asked, event)]
    assert [time for time, _ in found(convert([asked]), events)["r"]] == expected


def test_keywords_and_networks_are_said_in_the_words_of_the_language() -> None:
    program = convert([rule(["needle"]), rule({"ip|cidr": "fe80::/10"}, "net")])
    assert "WHERE  ANY COLUMN ILIKE '%needle%'" in program
    assert "WHERE  cidr_match(ip, 'fe80::/10')" in program


def test_keywords_under_not_and_as_regular_expressions() -> None:
    asked = {
        "title": "r",
        "logsource": LOGSOURCE,
        "detection": {
            "one": {"|re": "b[0-9]+"},
            "other": {"|all": ["x", "y"]},
            "condition": "one and not other",
        },
    }
    events = [
        (0.0, {"message": "b12"}),
        (1.0, {"message": "b12 x"}),
        (2.0, {"message": "b12 x y"}),
        (3.0, {"message": "c"}),
    ]
    assert [time for time, _ in found(convert([asked]), events)["r"]] == [0.0, 1.0]
