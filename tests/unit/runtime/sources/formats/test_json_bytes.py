"""Bytes many at a time: what Python finds in them and what compiled kernels find is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cqc.runtime.columns.array_addresses import address
from cqc.runtime.kernel import njit
from cqc.runtime.sources.formats import json_bytes
from cqc.runtime.sources.formats.json_bytes import (
    AT_ONCE,
    BITS,
    backslashes,
    byte,
    bytes_of_line,
    clean_bytes,
    first_bit,
    odd_bytes,
    plain_escapes,
    quotes,
    word,
)


@njit(cache=False)
def compiled(place: int) -> Any:
    return clean_bytes(place), bytes_of_line(place), byte(place), word(place)


@given(
    st.binary(min_size=AT_ONCE, max_size=AT_ONCE)
    | st.text("ab \x7f", min_size=AT_ONCE, max_size=AT_ONCE).map(str.encode)
)
def test_both_forms_agree(text: bytes) -> None:
    data = np.frombuffer(text, np.uint8)
    place = address(data)
    special = [at for at, each in enumerate(text) if each in b'"\\' or each < 32 or each > 127]
    expected = (
        special[0] if special else AT_ONCE,
        text.index(b"\n") if b"\n" in text else AT_ONCE,
        text[0],
        int.from_bytes(text[:8], "little"),
    )
    plain = (
        json_bytes._clean_bytes(place),
        json_bytes._bytes_of_line(place),
        json_bytes._byte(place),
        int(json_bytes._word(place)),
    )
    assert plain == expected
    assert tuple(map(int, compiled(place))) == expected


@njit(cache=False)
def compiled_bits(place: int) -> Any:
    marks = quotes(place), backslashes(place), odd_bytes(place), plain_escapes(place)
    return (*marks, first_bit(marks[0]), first_bit(marks[1]))


@given(
    st.binary(min_size=BITS, max_size=BITS)
    | st.text('a"/\\n\x1fu', min_size=BITS, max_size=BITS).map(str.encode)
)
def test_bits_say_which_bytes_are_such(text: bytes) -> None:
    place = address(np.frombuffer(text, np.uint8))
    marks = (
        {at for at, letter in enumerate(text) if letter == 34},
        {at for at, letter in enumerate(text) if letter == 92},
        {at for at, letter in enumerate(text) if letter < 32 or letter >= 128},
        {at for at, letter in enumerate(text) if letter in b'"\\/bfnrt'},
    )
    expected = [sum(1 << at for at in own) for own in marks]
    expected += [min(own, default=BITS) for own in marks[:2]]
    plain = [
        json_bytes._quotes(place),
        json_bytes._backslashes(place),
        json_bytes._odd_bytes(place),
        json_bytes._plain_escapes(place),
    ]
    plain += [json_bytes._first_bit(bits) for bits in plain[:2]]
    assert list(map(int, plain)) == expected
    assert list(map(int, compiled_bits(place))) == expected
