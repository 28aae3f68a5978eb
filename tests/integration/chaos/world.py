"""A small world to be run: streams of numbered rows in files that arrive one by one, and a table.

Rows are numbered within their stream, so that what is lost or repeated can be counted. Streams are at different event times and
out of order within their delay, never beyond it: no row may ever be late.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    import random
    from pathlib import Path

KEYS = 6
LABELS = {0: "zero", 1: "one", 2: "two", 3: "three"}
FORMATS = ("csv", "jsonl", "parquet")
COLUMNS = ("ts", "n", "k", "x", "name")
START_S = 1_000
LONG_AGO_S = 60.0  # a file that was last written so long ago is complete, whoever looks


@dataclass(frozen=True)
class Row:
    """One tuple: event time in seconds, number within its stream, a key and a value that adds up exactly."""

    ts: int
    n: int
    k: int
    x: float

    @property
    def name(self) -> str:
        return f'row {self.n}, "said" so'

    def as_json(self) -> dict[str, object]:
        return {"ts": self.ts, "n": self.n, "k": self.k, "x": self.x, "name": self.name}


@dataclass
class Stream:
    """A stream, and the rows that have arrived in it so far."""

    name: str
    form: str  # of its files; "http" for one that clients feed
    delay: int
    clock: int
    rows: list[Row] = field(default_factory=list)
    files: dict[Path, tuple[int, int]] = field(default_factory=dict)  # which rows each one has

    @property
    def latest(self) -> int:
        return max((row.ts for row in self.rows), default=0)

    def declaration(self) -> str:
        columns = "ts BIGINT, n BIGINT, k BIGINT, x DOUBLE, name STRING"
        place = f" WITH (path = '../{self.name}/', format = '{self.form}')"
        return (
            f"CREATE STREAM {self.name} ({columns}, WATERMARK FOR ts AS ts - {self.delay})"
            f"{'' if self.form == 'http' else place};"
        )

    def make_rows(self, rng: random.Random, count: int) -> list[Row]:
        """The rows that come next; they count as arrived from now on."""
        made = []
        for _ in range(count):
            if rng.random() < 0.25:
                self.clock += rng.randint(1, 2)
            ts = self.clock - rng.randint(0, self.delay)
            made.append(
                Row(ts, len(self.rows) + len(made), rng.randrange(KEYS), rng.randrange(40) / 2)
            )
        self.rows += made
        return made


class World:
    """The streams, the table and the folder they live in."""

    def __init__(self, folder: Path, rng: random.Random, *, with_http: bool = False) -> None:
        self.folder = folder
        self.rng = rng
        self.may_grow = True  # whether files that are there may get more lines
        forms = [rng.choice(FORMATS) for _ in range(rng.choice((2, 2, 3)))]
        self.streams = {
            name: Stream(name, form, rng.randint(0, 3), START_S + rng.choice((0, 5, 60)))
            for name, form in zip("abc", forms, strict=False)
        }
        if with_http:
            self.streams["h"] = Stream("h", "http", rng.randint(0, 3), START_S)
        for stream in self.in_files():
            (folder / stream.name).mkdir()
        lines = ["k,label", *(f"{key},{label}" for key, label in LABELS.items())]
        (folder / "t.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")

    def in_files(self) -> list[Stream]:
        return [stream for stream in self.streams.values() if stream.form != "http"]

    def declarations(self) -> str:
        table = "CREATE TABLE t (k BIGINT, label STRING) WITH (path = '../t.csv');"
        return "\n".join([*(each.declaration() for each in self.streams.values()), table, ""])

    def arrive(self, stream: Stream, count: int | None = None) -> None:
        """Let a file with new rows appear at once, or a text file of them grow by whole lines."""
        rng = self.rng
        first = len(stream.rows)
        rows = stream.make_rows(rng, count or rng.choice((1, 5, 20, 20, 60)))
        newest = max(stream.files, default=None)
        grows = rng.random() < 0.2 and self.may_grow
        if grows and newest is not None and stream.form != "parquet":
            with newest.open("ab") as file:
                file.write(text_of(rows, stream.form))
            stream.files[newest] = (stream.files[newest][0], len(stream.rows))
            return
        path = self.folder / stream.name / f"{first:06d}.{stream.form}"
        aside = self.folder / f"{stream.name}.aside"
        write_file(aside, rows, stream.form)
        if rng.random() < 0.5:  # a settled file: it was written elsewhere, and moved in later
            moment = time.time() - LONG_AGO_S
            os.utime(aside, (moment, moment))
        aside.replace(path)
        stream.files[path] = (first, len(stream.rows))

    def arrive_everywhere(self, count: int | None = None) -> None:
        """Let rows appear in every stream that is read from files, in any order."""
        streams = self.in_files()
        self.rng.shuffle(streams)
        for stream in streams:
            self.arrive(stream, count)

    def write_all(self, folder: Path) -> None:
        """Write everything that has arrived as it was meant, for a run that nobody disturbs."""
        for stream in self.streams.values():
            (folder / stream.name).mkdir(parents=True)
            write_file(
                folder / stream.name / f"0.{_readable(stream.form)}",
                stream.rows,
                _readable(stream.form),
            )
        (folder / "t.csv").write_bytes((self.folder / "t.csv").read_bytes())


def write_file(path: Path, rows: list[Row], form: str) -> None:
    if form == "parquet":
        columns = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
        pq.write_table(pa.table(columns), path)
        return
    header = f"{','.join(COLUMNS)}\n".encode() if form == "csv" else b""
    path.write_bytes(header + text_of(rows, form))


def text_of(rows: list[Row], form: str) -> bytes:
    """The lines of rows, without a header."""
    if form == "csv":
        quoted = ((row, row.name.replace('"', '""')) for row in rows)
        lines = (f'{row.ts},{row.n},{row.k},{row.x},"{name}"\n' for row, name in quoted)
    else:
        lines = (json.dumps(row.as_json()) + "\n" for row in rows)
    return "".join(lines).encode()


def _readable(form: str) -> str:
    return "jsonl" if form == "http" else form
