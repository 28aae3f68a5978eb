"""A thousand sliding thresholds beside one, over the same events: `cqc bench thresholds`."""

from __future__ import annotations

from pathlib import Path

from cqc.benchmarks.harness.side_by_side import Contestant, interleaved, machine, table

_MODULE = "cqc.benchmarks.engine.thresholds.measure"
_TIMED = (
    "CPU-seconds from Arrow to the rows of each rule, 5,000 events a second in micro-batches of 1 s. Each rule has its own filter, frame and "
    "number. Compiling and registering (start) are counted apart; the first tenth of the input is not timed. Median of {repeats} runs in "
    "processes of their own, taken in turns."
)
COUNTS = (1, 10, 100, 1_000, 10_000)


def run(*, quick: bool = False) -> str:
    """The table; the full run also records it in results.md beside this file."""
    seconds, repeats = (60, 1) if quick else (240, 3)
    counts = (1, 1_000) if quick else COUNTS
    found = interleaved(
        {f"{count:,}": Contestant(_MODULE, (str(count), str(seconds))) for count in counts}, repeats
    )
    one = found["1"]
    rows = [
        [
            name,
            f"{each['cpu_s']:.2f}",
            f"{each['cpu_s'] / one['cpu_s']:.1f}",
            f"{each['start_s']:.2f}",
            f"{each['results']:,}",
        ]
        for name, each in found.items()
        if each is not None and one is not None
    ]
    header = ["rules", "CPU-s", "of one", "start", "results"]
    text = "\n\n".join([machine(), _TIMED.format(repeats=repeats), table(header, rows)])
    if not quick:
        heading = "# Sliding thresholds\n\n`cqc bench thresholds`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text
