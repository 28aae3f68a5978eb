"""Nexmark's events have the shapes that are published."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from cqc.benchmarks.engine.nexmark.generator import events, last_auction, last_person


def test_of_fifty_events_one_is_a_person_three_are_auctions() -> None:
    found = events(5_000)
    assert [len(found[name]) for name in ("person", "auction", "bid")] == [100, 300, 4_600]


def test_a_seed_gives_the_same_events() -> None:
    assert events(1_000, 5)["bid"].equals(events(1_000, 5)["bid"])
    assert not events(1_000, 5)["bid"].equals(events(1_000, 6)["bid"])


def test_numbers_of_people_and_auctions_go_up_by_one() -> None:
    found = events(5_000)
    assert found["person"]["id"].to_pylist() == list(range(1_000, 1_100))
    assert found["auction"]["id"].to_pylist() == list(range(1_000, 1_300))
    number = np.array([4, 49, 50, 51, 53, 54])
    assert last_auction(number).tolist() == [2, 2, 2, 3, 5, 5]
    assert last_person(number).tolist() == [0, 0, 1, 1, 1, 1]


def test_bids_are_for_hot_auctions_half_of_the_time_and_by_hot_bidders_mostly() -> None:
    bids = events(200_000)["bid"]
    hot = np.mean((bids["auction"].to_numpy() - 1_000) % 100 == 0)
    assert 0.48 < hot < 0.53
    assert 0.74 < np.mean((bids["bidder"].to_numpy() - 1_000) % 100 == 1) < 0.77
    sizes = pc.utf8_length(bids["extra"]).to_numpy()
    assert (sizes.min(), sizes.max()) == (54, 81)
    assert 0.48 < np.mean(pc.starts_with(bids["channel"], "channel-").to_numpy()) < 0.52


def test_auctions_expire_after_they_begin() -> None:
    auctions = events(50_000)["auction"]
    lasts = pc.subtract(auctions["expires"], auctions["ts"]).cast("int64").to_numpy()
    assert lasts.min() >= 1_000
    assert lasts.max() <= 334_000
