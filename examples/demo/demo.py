"""What `make demo` shows: a thousand rules and five joins become one graph, run on Spark, and cost next to nothing.

    python examples/demo/demo.py [--engine local|spark] [--folder artifacts/demo]

Everything it says is measured or counted while one looks.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import make_hospital
import pyarrow.csv

import cqc

STREAMS = ("blood", "temperature", "heart", "kidney")
SAMPLE_RULES = 20  # run one by one
SHOWN_QUERIES, SHOWN_ROWS = 4, 2


def main() -> int:
    """Run the demo; the exit code is that of the run."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--engine", choices=["spark", "local"], default="spark")
    asked.add_argument("--folder", type=Path, default=Path("artifacts/demo"))
    given = asked.parse_args()
    folder: Path = given.folder
    if isinstance(sys.stdout, io.TextIOWrapper):  # also in a file what is done shows at once
        sys.stdout.reconfigure(line_buffering=True)
    make_hospital.main(folder)
    program = compiled(folder)
    print()
    failed = run(folder, given.engine)
    if failed:
        return failed
    print()
    show_alarms(folder / "alarms.jsonl")
    print()
    show_savings(program, folder)
    print()
    what_next(folder)
    return 0


def compiled(folder: Path) -> cqc.Program:
    """Compile, say what is shared, and draw it."""
    began = time.process_time()
    program = cqc.compile_files(folder)
    seconds = time.process_time() - began
    kinds = Counter(node.kind.value for node in program.graph.nodes)
    (folder / "graph.svg").write_text(program.to_svg(), encoding="utf-8")
    heading(f"{len(program.queries):,} queries, compiled into one graph in {seconds:.1f} s")
    print(
        f"  {kinds['Source']} sources, {kinds['GroupedFilter']} filters, {kinds['SharedState']} states and "
        f"{kinds['MultiJoin']} joins serve all of them."
    )
    for name in STREAMS:
        readers = sum(node.queries for node in program.graph.nodes if node.id == f"source:{name}")
        print(f"  {name:12} is read once for {readers} queries")
    return program


def run(folder: Path, engine: str) -> int:
    """Run the folder with the command, as a user would, and count its alarms while they come."""
    where = "on Spark" if engine == "spark" else "in this process"
    heading(f"Two minutes of {make_hospital.PATIENTS} patients, {where}")
    results, stats = folder / "alarms.jsonl", folder / "stats.json"
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m", "cqc.cli.main", "run", str(folder), "--engine", engine]
    command += ["--quiet", "--out", str(results), "--stats", str(stats)]
    began = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as running:
        while running.poll() is None:
            time.sleep(0.2)
            live(f"  {time.monotonic() - began:.0f} s, {lines_in(results):,} alarms so far")
    live("")
    if running.returncode:
        return running.returncode
    counted = json.loads(stats.read_text(encoding="utf-8"))
    tuples = sum(each["read"] for each in counted["streams"].values())
    print(
        f"  {tuples:,} tuples, {len(counted['queries']):,} queries: {counted['seconds']:.1f} s, "
        f"with the start of everything {time.monotonic() - began:.0f} s"
    )
    return 0


def lines_in(file: Path) -> int:
    """How many lines a file has by now."""
    try:
        return file.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def live(text: str) -> None:
    """One line that is written over, where somebody looks at it."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text}", end="", flush=True)


def show_alarms(results: Path) -> None:
    """The queries with most alarms, a few rows of each, and the rest counted."""
    rows: dict[str, list[dict[str, object]]] = {}
    with results.open(encoding="utf-8") as lines:
        for line in lines:
            result = json.loads(line)
            rows.setdefault(result["query"], []).append({"ts": result["ts"], **result["row"]})
    total = sum(map(len, rows.values()))
    heading(f"{total:,} alarms of {len(rows)} queries; the others were silent")
    loudest = sorted(rows, key=lambda query: (-len(rows[query]), query))
    for query in loudest[:SHOWN_QUERIES]:
        print(f"  {query}, {len(rows[query])} alarms")
        for row in rows[query][:SHOWN_ROWS]:
            print("    " + "  ".join(f"{name}={value}" for name, value in row.items()))
    rest = loudest[SHOWN_QUERIES:]
    print(
        f"  and {sum(len(rows[query]) for query in rest)} of {len(rest)} more queries, in {results}"
    )


def show_savings(program: cqc.Program, folder: Path) -> None:
    """What the rules cost together, and what some of them cost one by one: CPU time of the engine over the same readings."""
    readings = {
        name: pyarrow.csv.read_csv(folder / "data" / f"{name}.csv").to_batches() for name in STREAMS
    }
    rules = [name for name in program.queries.names if name.rpartition("_")[2].isdigit()]
    step = max(len(rules) // SAMPLE_RULES, 1)
    sample = rules[::step][:SAMPLE_RULES]
    seconds_of(program, sample[:1], readings)  # what is loaded once is not counted
    together = seconds_of(program, rules, readings)
    alone = sum(seconds_of(program, [name], readings) for name in sample) / len(sample)
    heading("What sharing saves, measured now")
    print(f"  {len(rules):,} rules together   {together:7.3f} s of CPU time")
    print(
        f"  one of them alone      {alone:7.3f} s (mean of {len(sample)}, each in an engine of its own)"
    )
    print(
        f"  {len(rules):,} one by one would take {alone * len(rules):.0f} s: "
        f"one graph does it in 1/{alone * len(rules) / together:.0f} of that."
    )


def seconds_of(program: cqc.Program, rules: list[str], readings: dict[str, list]) -> float:
    """CPU seconds to take all readings through an engine with some of the rules."""
    engine = cqc.Engine(program, only=tuple(rules), keep_past=False)
    began = time.process_time()
    for name, batches in readings.items():
        for batch in batches:
            engine.push(name, batch)
    for _ in engine.drain():
        pass
    return time.process_time() - began


def what_next(folder: Path) -> None:
    """Where things are, and what to try."""
    heading("What to try next")
    print(f"  look at the graph           open {folder}/graph.svg in a browser")
    print(f"  read the plan               cqc compile {folder} | less")
    print(f"  what was measured           cqc explain --analyze {folder} | less")
    print(f"  keep it running             cqc serve {folder} --engine local")
    print(
        '  ask it from another shell   cqc register "SELECT * FROM blood WHERE pressure < 70"; cqc queries'
    )
    print(
        f"  change a rule               edit {folder}/rules.cq while `cqc run {folder} --follow` runs"
    )


def heading(text: str) -> None:
    """A line that stands out."""
    print(f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
