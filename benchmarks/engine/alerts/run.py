"""A thousand alerts beside plain queries of the same conditions, and results to receivers: `cqc bench alerts`."""

from __future__ import annotations

from pathlib import Path

from cqc.benchmarks.harness.side_by_side import Contestant, interleaved, machine, table

_MEASURE = "cqc.benchmarks.engine.alerts.measure"
_DELIVER = "cqc.benchmarks.engine.alerts.deliveries"
_BAD_NS = 150
_TIMED = (
    "CPU-seconds from Arrow to blocks of results: {alerts:,} conditions over {rows:,} readings of 100,000 devices, as plain queries and as alerts. "
    "Allowed: twice the plain queries, and {bad} ns for each reading that is bad. Compiling is not counted, nor the first tenth of the input."
)
_SENT = (
    "Results from a file to a receiver on this machine, until the last is taken; webhooks of 16 queries, with a receiver in a process of its own, "
    "and rows into PostgreSQL beside COPY of the same rows. Rates are by the clock. Medians of {repeats} runs in processes of their own, taken in turns. "
    "A thousand results are delivered before the clock starts, but for 'the first rows of a process', where loading kernels and packages is counted."
)


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    alerts, rows, repeats = (100, 200_000, 1) if quick else (1_000, 1_000_000, 3)
    kinds = {
        kind: Contestant(_MEASURE, (kind, str(alerts), str(rows))) for kind in ("filters", "alerts")
    }
    engines = interleaved(kinds, repeats)
    plain, watched = engines["filters"], engines["alerts"]
    assert plain is not None
    assert watched is not None
    allowed = 2 * plain["cpu_s"] + plain["timed"] * _BAD_NS / 1e9
    told = [
        ["plain queries", f"{plain['cpu_s']:.2f}", f"{plain['results']:,}", ""],
        ["alerts", f"{watched['cpu_s']:.2f}", f"{watched['results']:,}", f"{allowed:.2f}"],
    ]
    parts = {
        "batched": 100_000,
        "single": 20_000,
        "postgres": 200_000,
        "first": 200_000,
        "copy": 200_000,
    }
    sent = interleaved(
        {
            kind: Contestant(_DELIVER, (kind, str(count // 10 if quick else count)))
            for kind, count in parts.items()
        },
        repeats,
    )
    names = {
        "batched": "webhook, 100 a request",
        "single": "webhook, one a request",
        "postgres": "postgres",
        "first": "postgres, the first rows of a process",
        "copy": "COPY alone",
    }
    rates = [
        [
            names[kind],
            f"{each['results']:,}",
            f"{each['results'] / each['seconds']:,.0f}",
            f"{each['results'] / each['cpu_s']:,.0f}",
        ]
        for kind, each in sent.items()
        if each is not None
    ]
    text = "\n\n".join(
        [
            machine(),
            _TIMED.format(alerts=alerts, rows=rows, bad=_BAD_NS),
            table(["", "CPU-s", "results", "allowed"], told),
            _SENT.format(repeats=repeats),
            table(["to", "results", "a second", "a CPU-second of cqc"], rates),
        ]
    )
    if not quick:
        heading = "# Alerts and deliveries\n\n`cqc bench alerts`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text
