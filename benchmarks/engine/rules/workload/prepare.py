"""The workload as files, made once for a seed and a size: `python -m cqc.benchmarks.engine.rules.workload.prepare`.

several/*.jsonl, *.parquet      one file a stream
wide/events.jsonl, .parquet     all of them as one stream
sequences/*.jsonl               the part of ten streams that sequences are sought in
rules.cq, rules_wide.cq, sequences.cq, and for each set of files a .cq that declares its streams
rules.json, sequences.json      the same rules as data, for the peers
shape.json                      the figures of the shape, beside the published ones

cqc run several_json.cq rules.cq --engine local --out found.jsonl
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.benchmarks.engine.rules.workload import files, sequence_rules, sequences, shapes
from cqc.benchmarks.engine.rules.workload.events import make_events
from cqc.benchmarks.engine.rules.workload.make_rules import make_rules
from cqc.benchmarks.engine.rules.workload.plant import plant
from cqc.benchmarks.engine.rules.workload.rules import cq_program
from cqc.benchmarks.engine.rules.workload.streams import STREAMS, WIDE, wide_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cqc.benchmarks.engine.rules.workload.events import Events
    from cqc.benchmarks.engine.rules.workload.rules import Rule

SEED = 16
_VERSION = 4  # of the generator: raised when the same seed gives other files
_CACHE = Path(__file__).resolve().parents[4] / "artifacts" / "bench-rules"
FORMATS = {"json": "jsonl", "parquet": "parquet"}


@dataclass(frozen=True)
class Size:
    """How much: 1.0 is 648,360 events."""

    scale: float = 1.0
    rules: int = 3_000
    seed: int = SEED
    parquet_only: bool = False  # one Parquet file a stream and nothing else

    def folder(self) -> Path:
        """Where the files of this size are kept."""
        ending = "-parquet" if self.parquet_only else ""
        return _CACHE / f"v{_VERSION}-seed{self.seed}-{self.scale:g}x-{self.rules}-rules{ending}"


def prepare(size: Size, folder: Path | None = None) -> Path:
    """The folder with the files, made when it is not there."""
    folder = folder or size.folder()
    if (folder / "shape.json").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for each in ("several", "wide", "sequences", "six"):
        (folder / each).mkdir(parents=True)
    events = make_events(size.seed, size.scale)
    rules = make_rules(size.rules, size.seed, events)
    steps = sequences.make_sequences(size.seed, events)
    plant(rules, events, size.seed, size.scale)
    _write_programs(folder, rules, steps)
    if size.parquet_only:
        files.write_parquet(events, folder / "several")
        (folder / "shape.json").write_text("[]")
        return folder
    _write_events(folder, events)
    _write_six(folder, rules)
    bytes_of = {name: (folder / "several" / f"{name}.jsonl").stat().st_size for name in events}
    figures = [*shapes.rule_figures(rules), *shapes.event_figures(events, bytes_of, size.scale)]
    (folder / "shape.json").write_text(json.dumps([asdict(each) for each in figures]))
    return folder


def _write_events(folder: Path, events: dict[str, Events]) -> None:
    files.write_json(events, folder / "several")
    files.write_parquet(events, folder / "several")
    files.write_wide_json(events, folder / "wide")
    files.write_wide_parquet(events, folder / "wide")
    files.write_json(sequences.beginning(events), folder / "sequences")


def _write_programs(
    folder: Path, rules: Sequence[Rule], steps: Sequence[sequence_rules.Sequence]
) -> None:
    several = {each.name: each.names() for each in STREAMS}
    for name, ending in FORMATS.items():
        (folder / f"several_{name}.cq").write_text(_declared(several, "several", ending))
        (folder / f"wide_{name}.cq").write_text(_declared({WIDE: wide_columns()}, "wide", ending))
    joined = {name: several[name] for name in sequences.STREAMS}
    (folder / "sequences_json.cq").write_text(_declared(joined, "sequences", "jsonl"))
    (folder / "rules.cq").write_text(cq_program(rules), encoding="utf-8")
    (folder / "rules_wide.cq").write_text(cq_program(rules, wide=WIDE), encoding="utf-8")
    (folder / "sequences.cq").write_text(sequence_rules.cq_program(steps), encoding="utf-8")
    (folder / "rules.json").write_text(json.dumps([asdict(rule) for rule in rules]))
    (folder / "sequences.json").write_text(json.dumps([asdict(each) for each in steps]))


def _declared(streams: dict[str, list[str]], folder: str, ending: str) -> str:
    """Streams with all their columns, as text, and where they are read from; events may be a second late."""
    lines = []
    for name, (_, *columns) in streams.items():
        declared = ", ".join(f"{column} STRING" for column in columns)
        lines.append(
            f"CREATE STREAM {name} (ts TIMESTAMP, {declared}, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)\n"
            f"  WITH (path = '{folder}/{name}.{ending}');"
        )
    return "\n".join(lines) + "\n"


def _write_six(folder: Path, rules: Sequence[Rule]) -> None:
    """Six rows of one stream and six rules over it: what a start costs."""
    stream = STREAMS[-1]
    with (folder / "several" / f"{stream.name}.jsonl").open("rb") as file:
        (folder / "six" / f"{stream.name}.jsonl").write_bytes(
            b"".join(next(file) for _ in range(6))
        )
    few = [rule for rule in rules if rule.stream == stream.name][:6]
    declared = _declared({stream.name: stream.names()}, "six", "jsonl")
    (folder / "six.cq").write_text(declared + cq_program(few), encoding="utf-8")


def main(arguments: Iterable[str] | None = None) -> None:
    """Make the files and say where they are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--scale", type=float, default=1.0, help="1.0 is 648,360 events")
    parser.add_argument("--rules", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--parquet-only", action="store_true")
    given = parser.parse_args(None if arguments is None else list(arguments))
    print(prepare(Size(given.scale, given.rules, given.seed, given.parquet_only)))


if __name__ == "__main__":
    main()
