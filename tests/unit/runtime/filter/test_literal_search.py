"""Many literals in many texts, against a search for each of them."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from cqc.runtime.filter import literal_search
from cqc.runtime.filter.literal_search import LiteralSearch
from cqc.runtime.filter.text_searches import Place

LETTERS = "abcä%."


def is_there(literal: str, text: str, place: Place) -> bool:
    match place:
        case Place.START:
            return text.startswith(literal)
        case Place.END:
            return text.endswith(literal)
        case Place.WHOLE:
            return text == literal
        case _:
            return literal in text


def check(search: LiteralSearch, atoms: dict[int, tuple[str, Place]], texts: list[str]) -> None:
    sure, maybe = search.hits(pa.array(texts, pa.string()))
    for (rows, found), is_candidate in ((sure, False), (maybe, True)):
        expected = {
            (row, atom)
            for row, text in enumerate(texts)
            for atom, (literal, place) in atoms.items()
            if (place is Place.CANDIDATE) == is_candidate and is_there(literal, text, place)
        }
        assert set(zip(rows.tolist(), found.tolist(), strict=True)) == expected


def word(rng: random.Random, longest: int) -> str:
    return "".join(rng.choice(LETTERS) for _ in range(rng.randrange(1, longest)))


@pytest.mark.parametrize("seed", range(40))
def test_literals_that_come_and_go_are_found_where_they_are_wanted(seed: int) -> None:
    rng = random.Random(seed)
    search, atoms = LiteralSearch(), {}
    for atom in range(rng.randrange(1, 150)):
        literal, place = word(rng, rng.choice([3, 7, 60])), rng.choice(list(Place))
        search.add(literal, place, atom)
        atoms[atom] = (literal, place)
        if rng.random() < 0.3:
            gone = rng.choice(list(atoms))
            search.remove(*atoms.pop(gone), gone)
        if rng.random() < 0.1:
            known = [literal for literal, _ in atoms.values()]
            texts = [
                rng.choice([*known, word(rng, 20)]) + rng.choice(["", word(rng, 5)])
                for _ in range(9)
            ]
            check(search, atoms, [*texts, "", *known[:3]])
    check(search, atoms, [word(rng, 90) for _ in range(30)])


def test_more_occurrences_than_there_is_room_for_are_all_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(literal_search, "_ROOM", 3)
    search, atoms = LiteralSearch(), {}
    for atom, place in enumerate(Place):
        search.add("ab", place, atom)
        atoms[atom] = ("ab", place)
    check(search, atoms, ["abababababab", "ab", "xab", "abx"] * 5)


def test_literals_longer_than_what_is_hashed_are_compared_to_their_end() -> None:
    long = "x" * 40
    search = LiteralSearch()
    atoms = {0: (long + "y", Place.START), 1: ("y" + long, Place.END), 2: (long, Place.WHOLE)}
    for atom, (literal, place) in atoms.items():
        search.add(literal, place, atom)
    check(search, atoms, [long + "yz", long + "z", "zy" + long, long, "x" * 33, "x" * 100])


def test_grams_that_turn_out_common_are_chosen_anew() -> None:
    search, atoms = LiteralSearch(), {}
    search.hits(pa.array(["nothing is known yet"]))
    for atom in range(300):
        literal = f"commonpart{atom:03d}"
        search.add(literal, Place.ANYWHERE, atom)
        atoms[atom] = (literal, Place.ANYWHERE)
    check(search, atoms, ["zzzz"])
    texts = ["commonpart" * 40 + "commonpart007"] * 200
    for _ in range(3):
        check(search, atoms, texts)
