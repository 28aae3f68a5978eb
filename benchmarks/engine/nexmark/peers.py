"""Nexmark's queries in Polars, where its frames can say them in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    Frames = Mapping[str, pl.LazyFrame]

_BID = ("auction", "bidder", "price", "ts", "extra")
_WINDOW = pl.col("ts").dt.truncate("10s")


def frames(tables: Mapping[str, pa.Table]) -> dict[str, pl.LazyFrame]:
    """The events as frames."""
    found: dict[str, Any] = {name: pl.from_arrow(table) for name, table in tables.items()}
    return {name: each.lazy() for name, each in found.items()}


def _sellers(tables: Frames) -> pl.LazyFrame:
    auctions = tables["auction"].filter(pl.col("category") == 10)
    people = tables["person"].filter(pl.col("state").is_in(["OR", "ID", "CA"]))
    joined = auctions.join(people, left_on="seller", right_on="id")
    return joined.select("name", "city", "state", "id")


def _hot_bids(tables: Frames) -> pl.LazyFrame:
    most = pl.col("price").max().over(_WINDOW)
    return tables["bid"].filter(pl.col("price") == most).select(_BID)


def _winners(tables: Frames) -> pl.LazyFrame:
    joined = tables["auction"].join(tables["bid"], left_on="id", right_on="auction", suffix="_bid")
    return joined.filter(pl.col("ts_bid").is_between(pl.col("ts"), pl.col("expires")))


def _average(tables: Frames) -> pl.LazyFrame:
    final = _winners(tables).group_by("id", "category").agg(pl.col("price").max())
    return final.group_by("category").agg(pl.col("price").mean())


def _winning_bids(tables: Frames) -> pl.LazyFrame:
    order = _winners(tables).sort(
        ["price", "ts_bid", "bidder"], descending=[True, False, False], maintain_order=True
    )
    return order.unique("id", keep="first")


def _with_side(tables: Frames) -> pl.LazyFrame:
    keyed = tables["bid"].with_columns(key=pl.col("auction") % 10_000)
    joined = keyed.join(tables["side_input"], on="key")
    return joined.select("auction", "bidder", "price", "ts", "value")


def _auctions_a_day(tables: Frames) -> pl.LazyFrame:
    price = pl.col("price")
    return (
        tables["bid"]
        .group_by("auction", pl.col("ts").dt.truncate("1d"))
        .agg(
            total=pl.len(),
            rank1=(price < 10_000).sum(),
            rank2=price.is_between(10_000, 999_999).sum(),
            rank3=(price >= 1_000_000).sum(),
            least=price.min(),
            most=price.max(),
            mean=price.mean(),
            total_price=price.sum(),
        )
    )


def _last_bids(tables: Frames) -> pl.LazyFrame:
    order = tables["bid"].sort(["ts", "price"], maintain_order=True)
    return order.unique(["bidder", "auction"], keep="last")


def _top_bids(tables: Frames) -> pl.LazyFrame:
    order = tables["bid"].sort(["price", "ts", "bidder"], descending=[True, False, False])
    return order.group_by("auction", maintain_order=True).head(10)


def _bids_of_category(tables: Frames) -> pl.LazyFrame:
    auctions = tables["auction"].filter(pl.col("category") == 10)
    return tables["bid"].join(auctions, left_on="auction", right_on="id", suffix="_auction")


def _directories(tables: Frames) -> pl.LazyFrame:
    parts = pl.col("url").str.split("/")
    names = [parts.list.get(at, null_on_oob=True).alias(f"dir{at - 2}") for at in (3, 4, 5)]
    return tables["bid"].select("auction", "bidder", "price", "channel", *names)


POLARS: dict[str, Callable[[Frames], pl.LazyFrame]] = {
    "q0": lambda tables: tables["bid"].select(_BID),
    "q1": lambda tables: tables["bid"].select(_BID).with_columns(price=pl.col("price") * 0.908),
    "q2": lambda tables: (
        tables["bid"].filter(pl.col("auction") % 123 == 0).select("auction", "price")
    ),
    "q3": _sellers,
    "q4": _average,
    "q7": _hot_bids,
    "q9": _winning_bids,
    "q12": lambda tables: tables["bid"].group_by("bidder", _WINDOW).agg(pl.len()),
    "q13": _with_side,
    "q17": _auctions_a_day,
    "q18": _last_bids,
    "q19": _top_bids,
    "q20": _bids_of_category,
    "q22": _directories,
}
