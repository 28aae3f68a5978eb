"""Digests of whole columns beside those of Python's library, for every length around the ends of blocks."""

from __future__ import annotations

import hashlib
import random
import zlib

import pyarrow as pa

from cqc.runtime.columns.bytes.digests import crc32_of, md5_of, sha1_of, sha256_of


def test_digests_are_those_of_the_library() -> None:
    chosen = random.Random(1)
    values = [chosen.randbytes(size) for size in (*range(140), 1_000, 5_000)]
    column = pa.array(values, pa.binary())
    assert md5_of(column).to_pylist() == [hashlib.md5(each).hexdigest() for each in values]
    assert sha1_of(column).to_pylist() == [hashlib.sha1(each).hexdigest() for each in values]
    assert sha256_of(column).to_pylist() == [hashlib.sha256(each).hexdigest() for each in values]
    shorter = [hashlib.sha224(each).hexdigest() for each in values]
    assert sha256_of(column, 224).to_pylist() == shorter
    assert crc32_of(column).tolist() == [zlib.crc32(each) for each in values]


def test_null_stays_null() -> None:
    assert md5_of(pa.array([None, ""])).to_pylist() == [None, hashlib.md5(b"").hexdigest()]
