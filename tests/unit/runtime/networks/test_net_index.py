"""Nets of many atoms, found by one search."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from cqc.runtime.columns.columns import text_column
from cqc.runtime.networks.net_index import NetIndex
from tests.support.formula_judge import in_nets


def random_address(random: Random) -> str:
    if random.random() < 0.3:
        return f"fe80::{random.randrange(4):x}:{random.randrange(3)}"
    return ".".join(str(random.choice((10, 1, 2, 255))) for _ in range(4))


def random_net(random: Random) -> str:
    address = random_address(random)
    most = 128 if ":" in address else 32
    return f"{address}/{random.choice((0, 8, 9, 16, 24, 31, most))}"


def test_hits_are_what_each_net_alone_says() -> None:
    random = Random(4)
    index = NetIndex()
    nets = {atom: tuple(random_net(random) for _ in range(3)) for atom in range(40)}
    for atom, own in nets.items():
        index.add(atom, own)
    for gone in (3, 17):
        index.remove(gone)
        del nets[gone]
    texts = [random_address(random) for _ in range(200)] + ["", "x", "10.1.1"]
    tuples, atoms = index.hits(text_column(pa.array([*texts, None])))
    expected = {
        (at, atom)
        for at, text in enumerate(texts)
        for atom, own in nets.items()
        if in_nets(text, own)
    }
    assert set(zip(tuples.tolist(), atoms.tolist(), strict=True)) == expected
    assert len(tuples) == len(expected)


def test_the_last_address_is_in_the_net_of_all() -> None:
    index = NetIndex()
    index.add(1, ("::/0", "0.0.0.0/0"))
    index.add(2, ("ff00::/8",))
    last = ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "255.255.255.255"]
    tuples, atoms = index.hits(text_column(pa.array(last)))
    assert sorted(zip(tuples.tolist(), atoms.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 1)]
