"""What a scan found becomes numbers and texts: room in 64 bits, escapes, and texts by the distinct ones."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqc.runtime.columns.array_addresses import address
from cqc.runtime.sources.formats import json_texts as texts
from cqc.runtime.sources.formats import json_values as scan


def laid_out(written: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts behind each other, and where each begins and ends."""
    data = np.frombuffer(b"".join(written) or b" ", np.uint8)
    ends = np.cumsum([len(text) for text in written]).astype(np.int32)
    return data, np.array([0, *ends], np.int32)[:-1], ends


def test_whole_numbers_have_room_in_64_bits_or_not() -> None:
    most = 2**63
    written = [b"0", b"-1", *(str(each).encode() for each in (most - 1, most, -most, -most - 1))]
    data, starts, ends = laid_out(written)
    values, fits = np.empty(len(written), np.int64), np.empty(len(written), np.bool_)
    texts.whole_numbers(address(data), starts, ends, values, fits)
    assert fits.tolist() == [True, True, True, False, True, False]
    assert values[fits].tolist() == [0, -1, most - 1, -most]


def gathered(text: str) -> str:
    data = np.frombuffer(text.encode(), np.uint8)
    starts, ends = np.array([1], np.int32), np.array([len(data) - 1], np.int32)
    offsets, room = np.empty(2, np.int32), np.empty(len(data) - 2, np.uint8)
    kinds = np.array([scan.ESCAPED], np.uint8)
    size = texts.gather_text(address(data), starts, ends, kinds, offsets, room)
    return room[:size].tobytes().decode()


def test_texts_are_gathered_with_their_escapes_resolved() -> None:
    text = r'"a\u00fc\ud83d\ude00\n\"\/"'
    assert gathered(text) == json.loads(text)


@given(st.text('abcdefgh"\\\n\u00fc\u20ac\U0001f600', min_size=1, max_size=200), st.booleans())
def test_long_texts_are_gathered_like_short_ones(text: str, ascii_only: bool) -> None:
    assert gathered(json.dumps(text, ensure_ascii=ascii_only)) == text


@given(
    st.lists(st.sampled_from([b"", b"a", b"ab", b"abcdefgh", b"abcdefgi", b"abcdefgh" * 9, None])),
    st.integers(0, 8),
)
def test_distinct_texts_are_numbered_as_they_come(written: list[bytes | None], most: int) -> None:
    data, starts, ends = laid_out([text or b"" for text in written])
    kinds = np.array([scan.NULL if text is None else scan.TEXT for text in written], np.uint8)
    codes, firsts = np.empty(len(written), np.int32), np.empty(most, np.int64)
    slots = np.full(1 << (2 * most).bit_length(), -1, np.int32)
    count = texts.encode_texts(address(data), starts, ends, kinds, most, slots, codes, firsts)
    distinct = list(dict.fromkeys(text for text in written if text is not None))
    if len(distinct) > most:
        assert count == -1
        return
    assert [written[row] for row in firsts[:count]] == distinct
    assert codes.tolist() == [0 if text is None else distinct.index(text) for text in written]


@pytest.mark.parametrize(
    ("text", "has"), [(rb"a\nb\\u", False), (rb"a\u0041", True), (rb"a\/", True), (rb"\\/", False)]
)
def test_escapes_that_are_not_needed_are_noticed(text: bytes, has: bool) -> None:
    data, starts, ends = laid_out([text])
    kinds = np.array([scan.ESCAPED], np.uint8)
    assert texts.has_other_spellings(address(data), starts, ends, kinds) == has


def test_texts_that_were_made_to_have_one_hash_are_given_up() -> None:
    mix, every = 0x9E3779B97F4A7C15, 2**64 - 1
    written = []
    for first in range(4_000):  # the second word makes up for what the first one changed
        code = (24 ^ first) * mix & every
        code ^= code >> 29
        words = first, code ^ 1, 5
        written.append(b"".join(word.to_bytes(8, "little") for word in words))
    data, starts, ends = laid_out(written)
    assert (
        len({int(scan.hash_of(address(data), *each)) for each in zip(starts, ends, strict=True)})
        == 1
    )
    kinds = np.full(len(written), scan.TEXT, np.uint8)
    codes, firsts = np.empty(len(written), np.int32), np.empty(len(written), np.int64)
    slots = np.full(16_384, -1, np.int32)
    most = len(written)
    assert texts.encode_texts(address(data), starts, ends, kinds, most, slots, codes, firsts) == -1
