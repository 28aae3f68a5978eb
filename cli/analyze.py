"""`cqc explain --analyze`: the graph of a program with what a run of it measured, and where time and memory went.

The results of the run go nowhere. The graph shows the counts beside the streams, joins and queries; below it
each operator has a line in a table (most time first), each join input has one, and the queries with most results follow.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from cqc.cli.interrupts import loading
from cqc.cli.report import counted, per_second
from cqc.compiler.emit.explain import emit
from cqc.runtime.errors import RunError
from cqc.runtime.metrics.operators import (
    FilterMetrics,
    HistoryMetrics,
    JoinMetrics,
    OperatorMetrics,
    TreeMetrics,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cqc.compiler import Program
    from cqc.runtime.adapt.decision import Decision
    from cqc.runtime.metrics.engine import EngineMetrics
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.finite_run import LocalRun, RunSummary
    from cqc.runtime.spark.run import SparkRun

Kind = TypeVar("Kind", bound=OperatorMetrics)

TOP = 10
MOST_TEXT = 40
MOST_DECISIONS = 12  # of one operator
VISIT_HEADER = ("filter", "place", "visits", "packets skipped", "visits per tuple", "tickets")
KEPT_HEADER = ("kept results", "bodies", "eager", "lazy", "changes", "rows", "trees")
JOIN_HEADER = ("join input", "probes", "candidates", "found", "memory")


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
    measured = run.engine.metrics()
    operators = summary.operators
    sections = [
        emit(program, notes(program, summary, measured), options.strategy).rstrip(),
        table(OPERATOR_HEADER, operator_rows(operators)),
        table(("state", "tuples kept", "memory"), state_rows(measured)),
        table(JOIN_HEADER, join_rows(operators)),
        table(("packets of", "packets", "tuples each", "threshold"), packet_rows(measured)),
        table(("metaqueue", "trains", "occupancy", "waited", "threshold"), queue_rows(operators)),
        table(("feedback", "suspended", "blacklisted", "resumed"), feedback_rows(operators)),
        table(VISIT_HEADER, visit_rows(operators)),
        table(("probe from", "to", "place", "tickets"), probe_rows(operators)),
        table(("phase", "compared", "kept", "selectivity"), phase_rows(operators)),
        table(("order of phases", "candidates by", "steps"), order_rows(operators)),
        table(("tree of joins", "shape", "why"), shape_rows(operators)),
        table(("join", "split from", "why"), split_rows(operators)),
        table(KEPT_HEADER, kept_rows(operators)),
        decided(measured.decisions),
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


def notes(program: Program, summary: RunSummary, measured: EngineMetrics) -> dict[str, str]:
    """What was measured, by the operator of the graph that it stands beside."""
    found: dict[str, str] = {}
    for name, count in summary.streams.items():
        found[f"source:{name}"] = (
            f"{count.read:,} read, {count.late:,} late, {count.rejected:,} rejected"
        )
    for state in measured.states:
        if state.taken:
            kept = counted(state.tuples, "tuple")
            found[f"state:{state.name}"] = f"{kept} now, {memory(state.bytes)}"
    for number, host in program.graph.hosts.items():
        for each in summary.operators:
            if host.name == each.name:
                found[f"join:{number}"] = (
                    f"{each.tuples_in:,} in, {counted(each.tuples_out, 'result')}, "
                    f"{milliseconds(each.seconds)}"
                )
            elif isinstance(each, JoinMetrics) and host.name in each.hosts:
                results = counted(each.hosts[host.name], "result")
                found[f"join:{number}"] = f"{results}, at one node: {each.name}"
    found |= {
        f"deliver:{name}": counted(number, "result") for name, number in summary.queries.items()
    }
    return found


OPERATOR_HEADER = ("operator", "tuples in", "out", "selectivity", "time", "of all", "memory")


def operator_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
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


def state_rows(measured: EngineMetrics) -> Iterator[tuple[str, ...]]:
    """Base tuples kept for joins and for BEGIN-END queries."""
    for state in measured.states:
        if state.taken:
            yield (state.name, f"{state.tuples:,}", memory(state.bytes))


def join_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
    """How often each input of a join was probed, what the index offered and what was found."""
    for join in of_kind(JoinMetrics, operators):
        names = [each.relation for each in join.inputs]
        for at, each in enumerate(join.inputs):
            number = f"#{names[:at].count(names[at]) + 1}" if names.count(names[at]) > 1 else ""
            counts = [f"{count:,}" for count in (each.probes, each.candidates, each.found)]
            yield (f"{join.name} {each.relation}{number}", *counts, memory(each.bytes))


def packet_rows(measured: EngineMetrics) -> Iterator[tuple[str, ...]]:
    """How many new tuples of each stream entered together."""
    for each in measured.packets:
        if each.packets:
            mean = f"{each.tuples / each.packets:,.1f}"
            yield (each.name, f"{each.packets:,}", mean, f"{each.threshold:,}")


def queue_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
    """How many partial combinations of one history met the next input together, and how many waited for that."""
    for join in of_kind(JoinMetrics, operators):
        for queue in join.queues:
            if queue.trains:
                yield (
                    f"{join.name} {queue.name}",
                    f"{queue.trains:,}",
                    f"{queue.rows / queue.trains:,.1f}",
                    share(queue.waited, queue.rows),
                    f"{queue.threshold:,}",
                )


def feedback_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
    """On each edge of a join tree: rows and pairs held back because nobody asked, still waiting, and let go."""
    for tree in of_kind(TreeMetrics, operators):
        for edge in tree.work.edges or ():
            waiting = "-" if edge.blacklisted is None else f"{edge.blacklisted:,}"
            yield (f"{tree.name} {edge.name}", f"{edge.suspended:,}", waiting, f"{edge.resumed:,}")


def visit_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
    """The grouped filters of each stream in the order in which packets visit them."""
    for filters in sorted(of_kind(FilterMetrics, operators), key=lambda each: each.name):
        for each in sorted(filters.visits, key=lambda each: each.place):
            yield (
                f"{filters.name} {shortened(each.name)}",
                f"{each.place:,}",
                f"{each.visits:,}",
                f"{each.skipped:,}",
                ratio(each.visits, filters.tuples_in),
                "-" if each.tickets is None else f"{each.tickets:,}",
            )


def probe_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
    """In which order new tuples of each join input meet the other inputs, where a policy decides that."""
    for join in of_kind(JoinMetrics, operators):
        for each in join.probes:
            tickets = "-" if each.tickets is None else f"{each.tickets:,}"
            yield (f"{join.name} {each.start}", f"{each.target}", f"{each.place + 1}", tickets)


def phase_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
    """What attribute, join and window conditions left of the candidates, where joins went in phases."""
    names = {"A": "attribute", "J": "join", "W": "window"}
    for join in of_kind(JoinMetrics, operators):
        for each in join.phases:
            counts = (f"{each.compared:,}", f"{each.kept:,}", ratio(each.kept, each.compared))
            yield (f"{join.name} {names[each.letter]}", *counts)


def order_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
    """The orders in which joins took their steps, and by what they reached the candidates."""
    for join in of_kind(JoinMetrics, operators):
        for each in join.orders:
            yield (f"{join.name} {each.order}", each.access, f"{each.steps:,}")


def shape_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
    """The shapes of joins that are trees: asked for by a switch or a hint, or chosen by what was measured."""
    for tree in of_kind(TreeMetrics, operators):
        yield (tree.name, tree.shape, "chosen" if tree.is_chosen else "asked for")


def split_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
    """Joins whose hosts are served apart because sharing did not pay, and those where that was tried in vain."""
    for each in operators:
        if isinstance(each, JoinMetrics | TreeMetrics) and each.split:
            node, _, why = each.split.partition(": ")
            origin = node.removeprefix("from ") if node.startswith("from ") else "-"
            yield (each.name, origin, why)


def kept_rows(operators: Sequence[OperatorMetrics]) -> Iterator[tuple[str, ...]]:
    """What is kept for BEGIN-END queries: how many bodies find their results as tuples come, and how many when asked."""
    for each in of_kind(HistoryMetrics, operators):
        counts = (each.bodies, each.eager, each.lazy, each.changes, each.rows, each.trees)
        yield (each.name, *(f"{count:,}" for count in counts))


def of_kind(kind: type[Kind], operators: Sequence[OperatorMetrics]) -> Iterator[Kind]:
    """The operators of one kind."""
    return (each for each in operators if isinstance(each, kind))


def decided(decisions: Iterable[Decision]) -> str:
    """What was decided while it ran, a sentence each; of many about one operator the first ones."""
    about: dict[str, dict[str, None]] = {}
    for each in decisions:
        about.setdefault(each.about, {})[each.sentence] = None
    lines: list[str] = []
    for name, sentences in about.items():
        lines += [f"  {sentence}" for sentence in list(sentences)[:MOST_DECISIONS]]
        if len(sentences) > MOST_DECISIONS:
            lines.append(f"  {name}: {len(sentences) - MOST_DECISIONS:,} decisions more")
    return "\n".join(["Decided while it ran", *lines]) if lines else ""


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
