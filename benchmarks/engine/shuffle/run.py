"""ShuffleBench's workload with more and more consumers: `cqc bench shuffle`."""

from __future__ import annotations

from pathlib import Path

from cqc.benchmarks.harness.side_by_side import Contestant, interleaved, machine, table

_MODULE = "cqc.benchmarks.engine.shuffle.measure"
_TIMED = (
    "CPU time a record from Arrow to the results of each consumer, 100,000 records a second in micro-batches of half a second. Compiling and "
    "registering (start) are counted apart; the first tenth of the input is not timed. Median of {repeats} runs in processes of "
    "their own, taken in turns."
)
COUNTS = (1_000, 10_000, 100_000, 1_000_000)


def run(*, quick: bool = False) -> str:
    """The table; the full run also records it in results.md beside this file."""
    seconds, repeats = (3, 1) if quick else (10, 3)
    counts = (1_000, 10_000) if quick else COUNTS
    found = interleaved(
        {f"{count:,}": Contestant(_MODULE, (str(count), str(seconds))) for count in counts}, repeats
    )
    rows, first = [], 0.0
    for name, each in found.items():
        assert each is not None
        a_record_us = 1e6 * each["cpu_s"] / each["records"]
        first = first or a_record_us
        figures = [f"{a_record_us:.3f}", f"{a_record_us / first:.1f}", f"{each['start_s']:.2f}"]
        rows.append([name, *figures, f"{each['results']:,}"])
    header = ["consumers", "microseconds a record", "of 1,000", "start, s", "results"]
    text = "\n\n".join([machine(), _TIMED.format(repeats=repeats), table(header, rows)])
    if not quick:
        heading = "# ShuffleBench\n\n`cqc bench shuffle`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text
