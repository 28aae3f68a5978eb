"""`cqc explain --analyze`: the graph of a program with what a run of it measured, and where time and memory went.

The results of the run go nowhere. The graph shows the counts beside the streams, joins and queries; below it
each operator has a line in a table (most time first), each join input has one, and the queries with most results follow.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from cqc.cli.interrupts import loading
from cqc.cli.report import counted, per_second
from cqc.compiler.emit.explain import emit
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cqc.compiler import Program
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.lineage.matches import OperatorCount
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.finite_run import LocalRun, RunSummary
    from cqc.runtime.spark.run import SparkRun

TOP = 10
MOST_TEXT = 40
VISIT_COLUMNS = ("place", "visits", "packets skipped", "visits per tuple", "tickets")
KEPT_COLUMNS = ("bodies", "eager", "lazy", "changes", "rows", "trees")
FEEDBACK_COLUMNS = ("suspended", "blacklisted", "resumed")
QUEUE_COLUMNS = ("trains", "occupancy", "waited", "threshold")
JOIN_COLUMNS = ("probes", "candidates", "found", "bytes")


def analyze_run(program: Program, options: RunOptions) -> str:
    """Run the program and explain it with the counts.

    Raises:
        RunError: when the run fails.
    """
    run = measured_run(program, options)
    try:
        run.to_end()
    except BaseException:
        with suppress(RunError):  # what went wrong first is what the user should read
            run.abandon()
        raise
    summary = run.close()
    sections = [
        emit(program, notes(program, summary, run.engine), options.strategy).rstrip(),
        table(OPERATOR_HEADER, operator_rows(summary.operators)),
        table(("state", "tuples kept", "memory"), state_rows(run.engine)),
        table(("join input", *JOIN_COLUMNS[:3], "memory"), join_rows(summary.operators)),
        table(("packets of", "packets", "tuples each", "threshold"), packet_rows(run.engine)),
        table(("metaqueue", *QUEUE_COLUMNS), queue_rows(summary.operators)),
        table(("feedback", *FEEDBACK_COLUMNS), feedback_rows(summary.operators)),
        table(("filter", *VISIT_COLUMNS), visit_rows(summary.operators)),
        table(("probe from", "to", "place", "tickets"), probe_rows(summary.operators)),
        table(("phase", "compared", "kept", "selectivity"), phase_rows(summary.operators)),
        table(("order of phases", "candidates by", "steps"), order_rows(summary.operators)),
        table(("tree of joins", "shape", "why"), shape_rows(summary.operators)),
        table(("join", "split from", "why"), split_rows(summary.operators)),
        table(("kept results", *KEPT_COLUMNS), kept_rows(summary.operators)),
        table(("query", "results", "share"), top_rows(summary)),
        closing(summary),
    ]
    return "\n\n".join(section for section in sections if section)


def measured_run(program: Program, options: RunOptions) -> LocalRun | SparkRun:
    """A run whose engine is in this process, where its counters can be read; Spark is loaded only where it is asked for."""
    if options.engine == "spark":
        with loading():
            from cqc.runtime.spark.run import SparkRun

        return SparkRun(program, options)
    with loading():
        from cqc.runtime.run.finite_run import LocalRun

    return LocalRun(program, options)


def notes(program: Program, summary: RunSummary, engine: Engine) -> dict[str, str]:
    """What was measured, by the operator of the graph that it stands beside."""
    found: dict[str, str] = {}
    for name, count in summary.streams.items():
        found[f"source:{name}"] = (
            f"{count.read:,} read, {count.late:,} late, {count.rejected:,} rejected"
        )
    for state in engine.states.values():
        if state.head:
            kept = counted(len(state), "tuple")
            found[f"state:{state.relation.name}"] = f"{kept} now, {memory(state.bytes)}"
    for number, host in program.graph.hosts.items():
        for measured in summary.operators:
            if host.name == measured.name:
                found[f"join:{number}"] = (
                    f"{measured.tuples_in:,} in, {counted(measured.tuples_out, 'result')}, "
                    f"{milliseconds(measured.seconds)}"
                )
            elif f"{host.name} results" in measured.detail:
                results = counted(measured.detail[f"{host.name} results"], "result")
                found[f"join:{number}"] = f"{results}, at one node: {measured.name}"
    found |= {
        f"deliver:{name}": counted(number, "result") for name, number in summary.queries.items()
    }
    return found


OPERATOR_HEADER = ("operator", "tuples in", "out", "selectivity", "time", "of all", "memory")


def operator_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """Every operator, the one that took most time first."""
    total = sum(each.seconds for each in operators)
    for each in sorted(operators, key=lambda each: -each.seconds):
        yield (
            each.name,
            f"{each.tuples_in:,}",
            f"{each.tuples_out:,}",
            ratio(each.tuples_out, each.tuples_in),
            milliseconds(each.seconds),
            share(each.seconds, total),
            memory(each.bytes),
        )


def state_rows(engine: Engine) -> Iterator[tuple[str, ...]]:
    """Base tuples kept for joins and for BEGIN-END queries."""
    for state in engine.states.values():
        if state.head:
            yield (state.relation.name, f"{len(state):,}", memory(state.bytes))


def join_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """How often each input of a join was probed, what the index offered and what was found."""
    found = list(parts(operators, "probes"))
    labels = [f"{each.name} {name.partition(':')[2]}" for each, name, _ in found]
    for at, (_, _, counts) in enumerate(found):
        number = f"#{labels[:at].count(labels[at]) + 1}" if labels.count(labels[at]) > 1 else ""
        numbers = [f"{counts.get(what, 0):,}" for what in JOIN_COLUMNS[:3]]
        yield (f"{labels[at]}{number}", *numbers, memory(counts.get("bytes", 0)))


def packet_rows(engine: Engine) -> Iterator[tuple[str, ...]]:
    """How many new tuples of each stream entered together."""
    for name, packets in engine.packets.items():
        if packets.packets:
            relation = engine.states[name].relation.name
            each = f"{packets.tuples / packets.packets:,.1f}"
            yield (relation, f"{packets.packets:,}", each, f"{packets.threshold:,}")


def queue_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """How many partial combinations of one history met the next input together, and how many waited for that."""
    for each, name, counts in parts(operators, "trains"):
        if not counts["trains"]:
            continue
        yield (
            f"{each.name} {name.removeprefix('queue ')}",
            f"{counts['trains']:,}",
            f"{counts['rows'] / counts['trains']:,.1f}",
            share(counts["waited"], counts["rows"]),
            f"{counts['threshold']:,}",
        )


def feedback_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """On each edge of a join tree: rows and pairs held back because nobody asked, still waiting, and let go."""
    for each, name, counts in parts(operators, "suspended"):
        waiting = f"{counts['blacklisted']:,}" if "blacklisted" in counts else "-"
        numbers = (f"{counts['suspended']:,}", waiting, f"{counts.get('resumed', 0):,}")
        yield (f"{each.name} {name}", *numbers)


def visit_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """The grouped filters of each stream in the order in which packets visit them."""
    found = sorted(
        parts(operators, "visits"), key=lambda part: (part[0].name, part[2].get("place", 0))
    )
    for each, name, counts in found:
        per_tuple = ratio(counts["visits"], each.tuples_in)
        shown = [f"{counts.get(what, 0):,}" for what in ("place", "visits", "skipped")]
        tickets = f"{counts['tickets']:,}" if "tickets" in counts else "-"
        yield (f"{each.name} {shortened(name)}", *shown, per_tuple, tickets)


def probe_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """In which order new tuples of each join input meet the other inputs, where a policy decides that."""
    for each, name, counts in parts(operators, "place"):
        start, separator, target = name.partition(" to ")
        if separator and start.startswith("from "):
            tickets = f"{counts['tickets']:,}" if "tickets" in counts else "-"
            yield (f"{each.name} {start[5:]}", target, f"{counts['place'] + 1}", tickets)


def phase_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """What attribute, join and window conditions left of the candidates, where joins went in phases."""
    names = {"A": "attribute", "J": "join", "W": "window"}
    for each, name, counts in parts(operators, "compared"):
        compared, kept = counts["compared"], counts.get("kept", 0)
        phase = names.get(name.removeprefix("phase "), name)
        yield (f"{each.name} {phase}", f"{compared:,}", f"{kept:,}", ratio(kept, compared))


def order_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """The orders in which joins took their steps, and by what they reached the candidates."""
    for each, name, counts in parts(operators, "steps"):
        order, _, access = name.removeprefix("order ").partition(" ")
        yield (f"{each.name} {order}", access, f"{counts['steps']:,}")


def shape_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """The shapes of joins that are trees: asked for by a switch or a hint, or chosen by what was measured."""
    for each in operators:
        for name in each.detail:
            shape, _, why = name.removeprefix("shape ").rpartition(") ")
            if name.startswith("shape ("):
                yield (each.name, f"{shape})", why)


def split_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """Joins whose hosts are served apart because sharing did not pay, and those where that was tried in vain."""
    for each in operators:
        for name in each.detail:
            if name.startswith("split "):
                node, _, why = name.removeprefix("split ").partition(": ")
                origin = node.removeprefix("from ") if node.startswith("from ") else "-"
                yield (each.name, origin, why)


def kept_rows(operators: Sequence[OperatorCount]) -> Iterator[tuple[str, ...]]:
    """What is kept for BEGIN-END queries: how many bodies find their results as tuples come, and how many when asked."""
    for each in operators:
        if "eager" in each.detail:
            yield (each.name, *(f"{each.detail[what]:,}" for what in KEPT_COLUMNS))


def parts(
    operators: Sequence[OperatorCount], having: str
) -> Iterator[tuple[OperatorCount, str, dict[str, int]]]:
    """The parts of operators that were counted one by one, those that have such a count."""
    for each in operators:
        named: dict[str, dict[str, int]] = {}
        for label, number in each.detail.items():
            name, _, what = label.rpartition(" ")
            if name:
                named.setdefault(name, {})[what] = number
        for name, counts in named.items():
            if having in counts:
                yield each, name, counts


def shortened(text: str) -> str:
    """A condition that fits a table."""
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."


def top_rows(summary: RunSummary) -> Iterator[tuple[str, ...]]:
    """The queries with most results."""
    total = sum(summary.queries.values())
    busiest = sorted(summary.queries.items(), key=lambda entry: (-entry[1], entry[0]))
    for name, number in busiest[:TOP]:
        yield (name, f"{number:,}", share(number, total))
    if len(busiest) > TOP:
        rest = sum(number for _, number in busiest[TOP:])
        yield (f"{len(busiest) - TOP:,} more", f"{rest:,}", share(rest, total))


def closing(summary: RunSummary) -> str:
    """How much was read, and how fast."""
    read = sum(count.read for count in summary.streams.values())
    rate = read / summary.seconds if summary.seconds > 0 else 0.0
    lines = [f"warning: {warning}" for warning in summary.warnings]
    if summary.failed_evaluations:
        lines.append(f"{counted(summary.failed_evaluations, 'evaluation')} failed and gave NULL")
    lines.append(f"{counted(read, 'tuple')} in {summary.seconds:.2f} s, {per_second(rate)}")
    return "\n".join(lines)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns, the first to the left and numbers to the right; nothing when there are no rows."""
    from cqc.runtime.sinks.table import render_table

    columns = [list(cells) for cells in zip(*rows, strict=True)]
    if not columns:
        return ""
    return "\n".join(render_table(header, columns, [False] + [True] * (len(header) - 1)))


def ratio(part: int, whole: int) -> str:
    """Results per tuple."""
    return f"{part / whole:.3g}" if whole else "-"


def share(part: float, whole: float) -> str:
    """A part of the whole in per cent."""
    return f"{100 * part / whole:.0f} %" if whole else "-"


def milliseconds(seconds: float) -> str:
    """A time span that a person can compare."""
    return f"{seconds * 1000:,.1f} ms"


def memory(size: int) -> str:
    """Bytes in a unit that fits."""
    if size < 10_000:
        return f"{size:,} B"
    return f"{size / 1000:,.0f} kB" if size < 10_000_000 else f"{size / 1_000_000:,.0f} MB"
