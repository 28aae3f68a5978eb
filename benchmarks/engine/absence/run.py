"""What did not happen: `cqc bench absence`.

1, 10, 100 and 1,000 rules "A without B of the same key within d", each with filters and a length of its own, over a million tuples
(10,000 a second, 100,000 keys, one in a hundred without a partner). cqc in micro-batches of 1 s beside Polars over the whole input
with one statement a rule, from the same Arrow input (`arrow_feed.py`), and one rule beside Spark's own stream-stream left outer join
(`spark_join.py`). Figures are CPU-seconds.
"""

from __future__ import annotations

from pathlib import Path

from cqc.benchmarks.harness.side_by_side import Contestant, interleaved, machine, table

_OURS = "cqc.benchmarks.engine.absence.measure"
_FIRST_SEEN = "cqc.benchmarks.engine.absence.first_seen"
_SPARK = "cqc.benchmarks.engine.absence.spark_join"
_PEERS = "cqc.benchmarks.engine.absence.peers"
_HEADER = ["rules", "results", "cqc, 1 s batches", "Polars, whole input", "Polars against cqc"]
_TIMED = (
    "Timed, on both sides: from Arrow (record batches, or whole tables) to each rule's rows by column. Not timed: the input, "
    "registering the rules, and a first pass over a twentieth of it. CPU time of the whole process. Every figure is the median "
    "of {repeats} runs in processes of their own, taken in turns."
)


def run(*, quick: bool = False) -> str:
    """The table; the full run also records it in results.md beside this file."""
    tuples, repeats = ("100000", 1) if quick else ("1000000", 3)
    counts = ("1", "10", "100") if quick else ("1", "10", "100", "1000")
    rows = []
    one_rule_s = 0.0
    for count in counts:
        arguments = (count, tuples)
        contestants = {
            "cqc": Contestant(_OURS, arguments),
            "polars": Contestant(_PEERS, arguments, peers=True),
        }
        found = interleaved(contestants, repeats)
        own, peer = found["cqc"], found.get("polars")
        assert own is not None
        one_rule_s = one_rule_s or own["cpu_s"]
        cells = [count, f"{own['results']:,}", f"{own['cpu_s']:.2f}"]
        if peer is None:
            rows.append([*cells, "not there", ""])
        else:
            same = "" if peer["results"] == own["results"] else f" ({peer['results']:,} results)"
            ratio = peer["cpu_s"] / own["cpu_s"]
            rows.append([*cells, f"{peer['cpu_s']:.2f}{same}", f"{ratio:.1f}x"])
    native = interleaved({"spark": Contestant(_SPARK, (tuples,))}, 1)["spark"]
    assert native is not None
    beside_spark = (
        f"One rule as Spark's own stream-stream left outer join, micro-batches of 1 s: {native['cpu_s']:.1f} CPU-seconds, "
        f"{native['results']:,} results; {native['cpu_s'] / one_rule_s:.0f} times as much."
    )
    keys = "100000" if quick else "1000000"
    seen = interleaved({"cqc": Contestant(_FIRST_SEEN, (keys,))}, 1)["cqc"]
    assert seen is not None
    first_seen = (
        f"First seen over the whole past, {int(keys):,} keys of two texts, each twice: "
        f"{seen['bytes_per_key']:.0f} bytes a key, {seen['grown_per_key']:.0f} by how much the process grew, "
        f"{seen['cpu_s']:.1f} CPU-seconds."
    )
    text = "\n\n".join(
        [
            machine(),
            f"CPU-seconds, {int(tuples):,} tuples.",
            _TIMED.format(repeats=repeats),
            table(_HEADER, rows),
            beside_spark,
            first_seen,
        ]
    )
    if not quick:
        heading = "# What did not happen\n\n`cqc bench absence`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text
