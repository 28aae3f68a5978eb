"""A thousand queries over fifty views, five levels deep, beside the same queries written out: `cqc bench views`."""

from __future__ import annotations

from pathlib import Path

from cqc.benchmarks.harness.side_by_side import Contestant, interleaved, machine, table

_MODULE = "cqc.benchmarks.engine.views.measure"
_TIMED = (
    "CPU-seconds from Arrow tables to the rows of each query, in micro-batches of 1 s, 1,000 tuples a second and stream. Compiling "
    "and registering (start) are counted apart; the first tenth of the input is not timed. Median of {repeats} runs in processes of "
    "their own, taken in turns."
)


def run(*, quick: bool = False) -> str:
    """The table; the full run also records it in results.md beside this file."""
    seconds, repeats = (20, 1) if quick else (60, 3)
    forms = {"over views": "views", "written out": "hand"}
    found = interleaved(
        {name: Contestant(_MODULE, (form, str(seconds))) for name, form in forms.items()}, repeats
    )
    rows = [
        [name, f"{each['cpu_s']:.2f}", f"{each['start_s']:.2f}", f"{each['results']:,}"]
        for name, each in found.items()
        if each is not None
    ]
    ratio = "one of the two could not be measured"
    views, hand = found["over views"], found["written out"]
    if views is not None and hand is not None:
        if views["results"] != hand["results"]:
            raise RuntimeError("the two forms have different results")
        ratio = f"over views: {views['cpu_s'] / hand['cpu_s']:.2f} times the queries written out"
    text = "\n\n".join(
        [
            machine(),
            _TIMED.format(repeats=repeats),
            table(["1,000 queries", "CPU-s", "start", "results"], rows),
            ratio,
        ]
    )
    if not quick:
        heading = "# Queries over views\n\n`cqc bench views`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text
