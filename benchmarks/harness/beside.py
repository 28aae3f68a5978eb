"""This tree beside another one: `python -m cqc.benchmarks.harness.beside OTHER_TREE [NAME ...] [--pairs 15]`.

Answers whether a change made anything slower. The rows of `cqc bench filters|joins|theta|jit|pull --quick` are measured in two
processes, one in each tree, which take turns row by row; so both see the same weather, and each row has one ratio of CPU times
a pair. A row got slower when the 95 % interval of its mean (logarithmic) ratio lies above 1.05. The other tree must be ready to run: its
own `.venv`, its kernels warm. Exit code 1 when a row got slower.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
from pathlib import Path

from cqc.benchmarks.harness.side_by_side import ROOT, machine, table

_WORKER = Path(__file__).with_name("beside_worker.py")
_SLOWER = 1.05
_STUDENT_95 = {4: 2.776, 9: 2.262, 14: 2.145, 19: 2.093, 29: 2.045}  # by degrees of freedom
_ROWS: tuple[tuple[str, ...], ...] = (
    *(("filters", "sizes", count) for count in ("1000", "10000", "100000")),
    ("filters", "text", "2000"),
    *(("filters", "live", count) for count in ("1000", "10000")),
    *(
        ("joins", mode, count, "20000", rate)
        for rate in ("100", "1000")
        for mode in ("rows", "count")
        for count in ("1", "10", "100", "1000")
    ),
    *(("theta", "mixed", mode, count, "5000") for mode in ("rows", "count") for count in ("5", "20", "50")),
    *(("theta", "list", "count", count, "5000") for count in ("1", "100", "1000", "10000")),
    *(
        ("jit", setting, *(f"{join}:{feedback}" for feedback in ("off", "exact", "bloom", "auto", "demand")))
        for setting, join in (("BUSHY", "bushy"), ("LEFT_DEEP", "left-deep"), ("DENSE", "bushy"))
    ),
    *(("jit", setting, "auto:auto") for setting in ("BUSHY", "LEFT_DEEP", "DENSE")),
    *(
        ("pull", part)
        for part in (
            "equality", "interval", "joins", "rates", "late", "aggregates", "groups", "distinct", "periodic",
        )
    ),
)  # fmt: skip


class Tree:
    """A working process in one tree."""

    def __init__(self, root: Path) -> None:
        python = root / ".venv" / "bin" / "python"
        if not python.exists():
            raise SystemExit(f"{root} has no .venv: run `make warm` there first")
        self._process = subprocess.Popen(
            [str(python), str(_WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
        )  # fmt: skip

    def measure(self, row: tuple[str, ...]) -> dict[str, float]:
        """What the figures of one row cost."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(row) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"the measurement of {' '.join(row)} failed")
        found: dict[str, float] = json.loads(answer)
        return found

    def end(self) -> None:
        """Let the process go."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def ratios(
    ours: Tree, other: Tree, row: tuple[str, ...], pairs: int, best_of: int
) -> dict[str, list[float]]:
    """For each figure of a row, our cost by the other tree's, pair by pair; a first pair loads the kernels and does not count."""
    found: dict[str, list[float]] = {}
    for pair in range(pairs + 1):
        costs: dict[int, dict[str, float]] = {id(ours): {}, id(other): {}}
        for turn in range(best_of if pair else 1):
            for tree in (ours, other) if (pair + turn) % 2 else (other, ours):
                least = costs[id(tree)]
                for name, cost in tree.measure(row).items():
                    least[name] = min(cost, least.get(name, cost))
        for name, cost in costs[id(ours)].items():
            before = costs[id(other)].get(name)
            if pair and before:
                found.setdefault(name, []).append(cost / before)
    return found


def interval(measured: list[float]) -> tuple[float, float, float]:
    """The mean ratio and its 95 % interval, by logarithms: half as much and twice as much are as far from one."""
    logs = [math.log(each) for each in measured]
    middle = statistics.fmean(logs)
    freedom = len(logs) - 1
    student = _STUDENT_95.get(freedom, 2.0)
    reach = student * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle), math.exp(middle - reach), math.exp(middle + reach)


def main() -> None:
    """Measure what the arguments say, and print the table."""
    parser = argparse.ArgumentParser(prog="beside", description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument(
        "names",
        nargs="*",
        help="how rows begin, such as `joins rows`: all of them when none is named",
    )
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument(
        "--best-of",
        type=int,
        default=1,
        help="measure both trees so often for a pair and take the least of each: on a busy machine others only ever add to a cost",
    )
    arguments = parser.parse_intermixed_args()
    ours, other = Tree(ROOT), Tree(arguments.other.resolve())
    lines, slower = [], 0
    for row in _ROWS:
        if arguments.names and not " ".join(row).startswith(tuple(arguments.names)):
            continue
        for name, measured in ratios(ours, other, row, arguments.pairs, arguments.best_of).items():
            middle, low, high = interval(measured)
            worse = low > _SLOWER
            slower += worse
            what = " ".join(part for part in row if not name or ":" not in part)
            lines.append(
                [what, name, f"{middle:.3f}", f"{low:.3f} - {high:.3f}", "slower" if worse else ""]
            )
            print(*lines[-1], sep="  ", flush=True)
    ours.end()
    other.end()
    header = ["row", "figure", "ratio", "95 % interval", ""]
    each = f", each the best of {arguments.best_of}" if arguments.best_of > 1 else ""
    print(f"\n{machine()}, {arguments.pairs} pairs{each}\n\n{table(header, lines)}")
    print(f"\n{len(lines)} figures, {slower} slower")
    raise SystemExit(1 if slower else 0)


if __name__ == "__main__":
    main()
