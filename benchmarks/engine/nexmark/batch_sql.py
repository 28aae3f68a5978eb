"""Nexmark's queries as batch SQL for DuckDB, written from the published ones: what the answers are checked against.

Where a row of a window is meant, a window of `n` seconds that holds `ts` is found from the seconds since the epoch.
"""

from __future__ import annotations

_TEN = "epoch_us(ts) // 10000000"
_START = f"make_timestamp(({_TEN}) * 10000000)"
_END = f"make_timestamp(({_TEN} + 1) * 10000000)"
_WON = "FROM auction a JOIN bid b ON a.id = b.auction AND b.ts BETWEEN a.ts AND a.expires"
_BANDS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")


def _counts(what: str) -> str:
    return ", ".join(
        [f"COUNT({what})", *(f"COUNT({what}) FILTER (WHERE {each})" for each in _BANDS)]
    )


_STATISTICS = ", ".join(map(_counts, ("*", "DISTINCT bidder", "DISTINCT auction")))
_CHANNEL_IDS = "['apple', 'google', 'facebook', 'baidu']"

QUERIES = {
    "q0": "SELECT auction, bidder, price, ts, extra FROM bid",
    "q1": "SELECT auction, bidder, CAST(0.908 AS DOUBLE) * price, ts, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": "SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id"
    " WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')",
    "q4": f"SELECT category, AVG(final) FROM (SELECT MAX(b.price) AS final, a.id, a.category {_WON} GROUP BY a.id, a.category)"
    " GROUP BY category",
    "q5": "WITH ends AS (SELECT auction, unnest(generate_series((epoch_us(ts) // 2000000 + 1) * 2, (epoch_us(ts) // 2000000) * 2 + 10, 2)) AS e"
    " FROM bid), counted AS (SELECT auction, COUNT(*) AS num, e FROM ends GROUP BY auction, e)"
    " SELECT auction, num, make_timestamp(e * 1000000) FROM counted QUALIFY num = MAX(num) OVER (PARTITION BY e)",
    "q6": "SELECT seller, AVG(price) OVER (PARTITION BY seller ORDER BY dated, id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)"
    f" FROM (SELECT a.id, a.seller, b.price, b.ts AS dated {_WON}"
    " QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id, a.seller ORDER BY b.price DESC, b.ts) = 1)",
    "q7": f"SELECT auction, price, bidder, ts, extra FROM bid QUALIFY price = MAX(price) OVER (PARTITION BY {_TEN})",
    "q8": f"SELECT p.id, p.name, p.s FROM (SELECT DISTINCT id, name, {_START} AS s FROM person) p JOIN"
    f" (SELECT DISTINCT seller, {_START} AS s FROM auction) a ON p.id = a.seller AND p.s = a.s",
    "q9": "SELECT a.id, a.itemName, a.description, a.initialBid, a.reserve, a.ts, a.expires, a.seller, a.category, a.extra, b.bidder, b.price,"
    f" b.ts, b.extra {_WON} QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.ts, b.bidder) = 1",
    "q10": "SELECT auction, bidder, price, ts, extra, strftime(ts, '%Y-%m-%d'), strftime(ts, '%H:%M') FROM bid",
    "q11": "WITH begun AS (SELECT *, CASE WHEN epoch_us(ts) - lag(epoch_us(ts)) OVER (PARTITION BY bidder ORDER BY ts) <= 10000000 THEN 0"
    " ELSE 1 END AS new FROM bid), counted AS (SELECT *, SUM(new) OVER (PARTITION BY bidder ORDER BY ts ROWS UNBOUNDED PRECEDING) AS number"
    " FROM begun) SELECT bidder, COUNT(*), MIN(ts), MAX(ts) + INTERVAL 10 SECONDS FROM counted GROUP BY bidder, number",
    "q12": f"SELECT bidder, COUNT(*), {_START}, {_END} FROM bid GROUP BY bidder, {_TEN}",
    "q13": "SELECT b.auction, b.bidder, b.price, b.ts, s.value FROM bid b JOIN side_input s ON b.auction % 10000 = s.key",
    "q14": "SELECT auction, bidder, CAST(0.908 AS DOUBLE) * price, CASE WHEN hour(ts) BETWEEN 8 AND 18 THEN 'dayTime'"
    " WHEN hour(ts) <= 6 OR hour(ts) >= 20 THEN 'nightTime' ELSE 'otherTime' END, ts, extra,"
    " length(extra) - length(replace(extra, 'c', '')) FROM bid"
    " WHERE CAST(0.908 AS DOUBLE) * price > 1000000 AND CAST(0.908 AS DOUBLE) * price < 50000000",
    "q15": f"SELECT date_trunc('day', ts), {_STATISTICS} FROM bid GROUP BY date_trunc('day', ts)",
    "q16": f"SELECT channel, date_trunc('day', ts), MAX(ts), {_STATISTICS} FROM bid GROUP BY channel, date_trunc('day', ts)",
    "q17": f"SELECT auction, date_trunc('day', ts), {_counts('*')}, MIN(price), MAX(price), AVG(price), SUM(price) FROM bid"
    " GROUP BY auction, date_trunc('day', ts)",
    "q18": "SELECT auction, bidder, price, channel, url, ts, extra FROM bid"
    " QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY ts DESC, price DESC) = 1",
    "q19": "SELECT auction, bidder, price, channel, url, ts, extra, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, ts, bidder) AS r"
    " FROM bid QUALIFY r <= 10",
    "q20": "SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.ts, b.extra, a.itemName, a.description, a.initialBid, a.reserve, a.ts,"
    " a.expires, a.seller, a.category, a.extra FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10",
    "q21": f"SELECT auction, bidder, price, channel, CASE WHEN list_contains({_CHANNEL_IDS}, lower(channel))"
    f" THEN CAST(list_position({_CHANNEL_IDS}, lower(channel)) - 1 AS VARCHAR)"
    " ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END FROM bid"
    f" WHERE regexp_matches(url, '(&|^)channel_id=([^&]*)') OR list_contains({_CHANNEL_IDS}, lower(channel))",
    "q22": "SELECT auction, bidder, price, channel, split_part(url, '/', 4), split_part(url, '/', 5), split_part(url, '/', 6) FROM bid",
}
