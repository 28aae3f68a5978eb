"""URLs as Java's URI reads them; the answers are Spark 4.3's."""

import pytest

from cqc.runtime.expressions.encoding_functions import decoded, url_part
from cqc.runtime.expressions.row_by_row import FAILED

URL = "https://user:pw@spark.apache.org:80/path/p.html?query=1&b=2#frag"


@pytest.mark.parametrize(
    ("url", "part", "found"),
    [
        (URL, "HOST", "spark.apache.org"),
        (URL, "PATH", "/path/p.html"),
        (URL, "QUERY", "query=1&b=2"),
        (URL, "REF", "frag"),
        (URL, "PROTOCOL", "https"),
        (URL, "FILE", "/path/p.html?query=1&b=2"),
        (URL, "AUTHORITY", "user:pw@spark.apache.org:80"),
        (URL, "USERINFO", "user:pw"),
        ("abc", "HOST", None),
        ("abc", "PATH", "abc"),
        ("http://x.y", "PATH", ""),
        ("http://x.y?", "QUERY", ""),
        ("http://x.y/", "host", None),
        ("mailto:a@b.c", "PATH", None),
        ("http://日本.jp/é", "HOST", None),
        ("http://日本.jp/é", "PATH", "/é"),
        ("http://x_y.z/p", "HOST", None),
        ("http://[::1]:80/p", "HOST", "[::1]"),
        ("file:///a/b", "PATH", "/a/b"),
        ("//h/p", "HOST", "h"),
        ("#x", "REF", "x"),
        ("http://h/a%20b", "PATH", "/a%20b"),
    ],
)
def test_the_parts_of_a_url_are_those_that_spark_gives(
    url: str, part: str, found: str | None
) -> None:
    assert url_part(url, part) == found


@pytest.mark.parametrize("url", ["http://a b", "%", "a%zz", "x\ty", "http:", ":a", "1a:b"])
def test_what_is_no_url_is_a_failure(url: str) -> None:
    assert url_part(url, "PATH") is FAILED


def test_a_value_of_the_query_is_found_by_its_key() -> None:
    assert url_part(URL, "QUERY", "b") == "2"
    assert url_part(URL, "QUERY", "z") is None
    assert url_part(URL, "HOST", "b") is None


def test_escapes_are_decoded_and_wrong_ones_fail() -> None:
    assert decoded("a+b%2F%C3%A9") == "a b/é"
    assert decoded("%zz") is FAILED
    assert decoded("%") is FAILED
