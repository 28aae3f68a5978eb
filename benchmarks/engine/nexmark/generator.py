"""Nexmark's events as published, a million at a time: 1 person, 3 auctions and 46 bids of every 50, 10,000 a second.

Which people and auctions an event speaks of follows from its number: of those that are active, with some hot ones. All of it is
drawn from one seed, so the same arguments give the same events.

    events(50_000)["bid"]      46,000 bids of the first five seconds
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.benchmarks.engine.nexmark.random_text import digits, lengths_of, letters, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

BASE_MS = 1_436_918_400_000  # 2015-07-15
RATE = 10_000  # events a second
EPOCH_EVENTS, PEOPLE, AUCTIONS = 50, 1, 3
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1_000, 10, 5
IN_FLIGHT, ACTIVE_PEOPLE, AHEAD = 100, 1_000, 10
HOT_AUCTIONS, HOT_SELLERS, HOT_BIDDERS, HOT_STEP = 2, 4, 4, 100
CHANNELS, SIDE_ROWS = 10_000, 10_000
PERSON_BYTES, AUCTION_BYTES, BID_BYTES = 200, 500, 100
_AT_ONCE = 1_000_000

FIRST_NAMES = [
    "Peter",
    "Paul",
    "Luke",
    "John",
    "Saul",
    "Vicky",
    "Kate",
    "Julie",
    "Sarah",
    "Deiter",
    "Walter",
]
LAST_NAMES = [
    "Shultz",
    "Abrams",
    "Spencer",
    "White",
    "Bartels",
    "Walton",
    "Smith",
    "Jones",
    "Noris",
]
CITIES = [
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
]  # fmt: skip
STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
HOT_CHANNELS = ["Google", "Facebook", "Baidu", "Apple"]
_TS = pa.timestamp("us", "UTC")


def events(count: int, seed: int = 0) -> dict[str, pa.Table]:
    """The first events: tables `person`, `auction` and `bid`, in the order of their times, and `side_input`."""
    rng = np.random.default_rng(seed)
    pages = _Pages(rng)
    parts: dict[str, list[pa.Table]] = {"person": [], "auction": [], "bid": []}
    for first in range(0, count, _AT_ONCE):
        number = np.arange(first, min(first + _AT_ONCE, count), dtype=np.int64)
        within = number % EPOCH_EVENTS
        parts["person"].append(_people(rng, number[within < PEOPLE]))
        is_auction = (within >= PEOPLE) & (within < PEOPLE + AUCTIONS)
        parts["auction"].append(_auctions(rng, number[is_auction]))
        parts["bid"].append(_bids(rng, number[within >= PEOPLE + AUCTIONS], pages))
    side = np.arange(SIDE_ROWS)
    found = {name: pa.concat_tables(each) for name, each in parts.items()}
    return {**found, "side_input": pa.table({"key": side, "value": pc.cast(side, pa.string())})}


class _Pages:
    """Channels and their addresses, which are made once: the hot ones first."""

    def __init__(self, rng: np.random.Generator) -> None:
        count = len(HOT_CHANNELS) + CHANNELS
        parts = [words(rng, count, 5, "_") for _ in range(3)]
        bases = pc.binary_join_element_wise(
            "https://www.nexmark.com", *parts, "item.htm?query=1", "/"
        )
        numbers = [abs(_reversed_bits(at)) for at in range(CHANNELS)]
        named = rng.integers(0, 10, CHANNELS) > 0
        tails = [f"&channel_id={n}" if has else "" for n, has in zip(numbers, named, strict=True)]
        tails = [""] * len(HOT_CHANNELS) + tails
        self.urls = pc.binary_join_element_wise(bases, pa.array(tails), "")
        self.channels = pa.array([*HOT_CHANNELS, *(f"channel-{at}" for at in range(CHANNELS))])


def _reversed_bits(number: int) -> int:
    """The 32 bits of a number from the other side, as a signed one."""
    found = int(f"{number:032b}"[::-1], 2)
    return found - (1 << 32) if found >= 1 << 31 else found


def _people(rng: np.random.Generator, number: Numbers) -> pa.Table:
    count = len(number)
    first, last = (_choice(rng, each, count) for each in (FIRST_NAMES, LAST_NAMES))
    name = pc.binary_join_element_wise(first, last, " ")
    mail = pc.binary_join_element_wise(
        words(rng, count, 7, "_"), "@", words(rng, count, 5, "_"), ".com", ""
    )
    card, city, state = digits(rng, count), _choice(rng, CITIES, count), _choice(rng, STATES, count)
    size = 8 + sum(lengths_of(each) for each in (name, mail, card, city, state))
    return pa.table(
        {
            "id": FIRST_ID + last_person(number),
            "name": name,
            "emailAddress": mail,
            "creditCard": card,
            "city": city,
            "state": state,
            "ts": _times(number),
            "extra": _extra(rng, size, PERSON_BYTES),
        }
    )


def _auctions(rng: np.random.Generator, number: Numbers) -> pa.Table:
    count = len(number)
    item, text = words(rng, count, 20), words(rng, count, 100)
    initial, more = _prices(rng, count), _prices(rng, count)
    hot = (last_person(number) // HOT_STEP) * HOT_STEP
    seller = np.where(rng.integers(0, HOT_SELLERS, count) > 0, hot, next_person(rng, number))
    now_ms = _times_ms(number)
    horizon = _times_ms(number + IN_FLIGHT * EPOCH_EVENTS // AUCTIONS) - now_ms
    expires = now_ms + 1 + (rng.random(count) * np.maximum(2 * horizon, 1)).astype(np.int64)
    size = 8 * 7 + lengths_of(item) + lengths_of(text)
    return pa.table(
        {
            "id": FIRST_ID + last_auction(number),
            "itemName": item,
            "description": text,
            "initialBid": initial,
            "reserve": initial + more,
            "ts": _times(number),
            "expires": pa.array(expires * 1_000).cast(_TS),
            "seller": FIRST_ID + seller,
            "category": FIRST_CATEGORY + rng.integers(0, CATEGORIES, count),
            "extra": _extra(rng, size, AUCTION_BYTES),
        }
    )


def _bids(rng: np.random.Generator, number: Numbers, pages: _Pages) -> pa.Table:
    count = len(number)
    hot_auction = (last_auction(number) // HOT_STEP) * HOT_STEP
    auction = np.where(
        rng.integers(0, HOT_AUCTIONS, count) > 0, hot_auction, next_auction(rng, number)
    )
    hot_bidder = (last_person(number) // HOT_STEP) * HOT_STEP + 1
    bidder = np.where(rng.integers(0, HOT_BIDDERS, count) > 0, hot_bidder, next_person(rng, number))
    page = np.where(
        rng.integers(0, 2, count) > 0,
        rng.integers(0, len(HOT_CHANNELS), count),
        len(HOT_CHANNELS) + rng.integers(0, CHANNELS, count),
    )
    return pa.table(
        {
            "auction": FIRST_ID + auction,
            "bidder": FIRST_ID + bidder,
            "price": _prices(rng, count),
            "channel": pages.channels.take(page),
            "url": pages.urls.take(page),
            "ts": _times(number),
            "extra": _extra(rng, np.full(count, 32), BID_BYTES),
        }
    )


# Which numbers there are


def last_person(number: Numbers) -> Numbers:
    """The last person up to an event."""
    return number // EPOCH_EVENTS + np.minimum(number % EPOCH_EVENTS, PEOPLE - 1)


def last_auction(number: Numbers) -> Numbers:
    """The last auction up to an event."""
    epoch, offset = number // EPOCH_EVENTS, number % EPOCH_EVENTS
    before = offset < PEOPLE
    epoch = np.where(before, epoch - 1, epoch)
    offset = np.where(before | (offset >= PEOPLE + AUCTIONS), AUCTIONS - 1, offset - PEOPLE)
    return epoch * AUCTIONS + offset


def next_person(rng: np.random.Generator, number: Numbers) -> Numbers:
    """One of the active people, or one who is just to come."""
    people = last_person(number) + 1
    active = np.minimum(people, ACTIVE_PEOPLE)
    return people - active + _below(rng, active + AHEAD)


def next_auction(rng: np.random.Generator, number: Numbers) -> Numbers:
    """One of the auctions in flight, or one that is just to come."""
    last = last_auction(number)
    least = np.maximum(last - IN_FLIGHT, 0)
    return least + _below(rng, last - least + 1 + AHEAD)


def _below(rng: np.random.Generator, limit: Numbers) -> Numbers:
    return (rng.random(len(limit)) * limit).astype(np.int64)


def _prices(rng: np.random.Generator, count: int) -> Numbers:
    return np.rint(10.0 ** (rng.random(count) * 6.0) * 100.0).astype(np.int64)


def _times_ms(number: Numbers) -> Numbers:
    return BASE_MS + number * (1_000_000 // RATE) // 1_000


def _times(number: Numbers) -> pa.Array:
    return pa.array(_times_ms(number) * 1_000).cast(_TS)


def _choice(rng: np.random.Generator, texts: list[str], count: int) -> pa.Array:
    return pa.array(texts).take(rng.integers(0, len(texts), count))


def _extra(rng: np.random.Generator, size: Any, wanted: int) -> pa.Array:
    """Letters that bring an event to about its size."""
    desired = np.maximum(wanted - size, 0)
    spread = 2 * np.rint(0.2 * desired).astype(np.int64)
    return letters(rng, (0.8 * desired).astype(np.int64) + _below(rng, spread))
