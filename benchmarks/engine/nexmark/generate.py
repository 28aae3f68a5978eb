"""Writes Nexmark's events to files: `python -m cqc.benchmarks.engine.nexmark.generate EVENTS [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq

from cqc.benchmarks.engine.nexmark.generator import events


def generate(count: int, folder: Path) -> list[Path]:
    """One Parquet file a stream and one for the table, as examples/nexmark/streams.cq reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, table in events(count).items():
        path = folder / f"{name}.parquet"
        pq.write_table(table, path)
        written.append(path)
    return written


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or not sys.argv[1].isdigit():
        sys.exit("usage: python -m cqc.benchmarks.engine.nexmark.generate EVENTS [FOLDER]")
    for each in generate(int(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "data")):
        print(each)
