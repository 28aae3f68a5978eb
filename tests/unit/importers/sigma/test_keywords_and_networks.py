"""Keywords look at all columns of a stream; networks hold their addresses and no others."""

from __future__ import annotations

import ipaddress
import random

import pytest

pytest.importorskip("sigma.rule")

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
