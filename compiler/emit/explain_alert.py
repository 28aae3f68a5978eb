"""Alerts in words: what is bad, when it fires and ends, and what is kept for each key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.wording.expressions import duration_text, expression_text, name_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.meaning.alerts import Alert
    from cqc.compiler.meaning.normal import NormalQuery


def alert_facts(query: NormalQuery, alert: Alert) -> Iterator[tuple[str, str]]:
    """The lines of explain about the life cycle of an alert."""
    relations = [item.relation for item in query.items]
    aliases = [item.alias for item in query.items]
    keys = [name_text(key.name) for key in alert.keys]
    severity = "" if alert.severity is None else f" of severity '{alert.severity}'"
    whose = f"for each {', '.join(keys)}" if keys else "one key for all observations"
    yield "alert", f"{whose}{severity}"
    if alert.hold_us is None:
        yield "fires", "at the first observation that is bad"
    else:
        yield (
            "fires",
            f"when it was bad for {duration_text(alert.hold_us)} without a good one between",
        )
    clear = "at an observation that is not bad"
    if alert.clear is not None:
        condition = expression_text(alert.clear, relations, aliases)
        clear = f"when no bad one came after one with {condition}"
    if alert.keep_us is not None:
        clear += f", {duration_text(alert.keep_us)} after the first that is not bad"
    yield "ends", clear
    if alert.no_data_us is not None:
        yield "ends", f"with no_data when nothing was heard for {duration_text(alert.no_data_us)}"
    if alert.once_us is not None:
        yield "tells", f"at most once every {duration_text(alert.once_us)}, again while it lasts"
    for text in alert.texts:
        shown = [f"{{{query.outputs[at].name}}}" for at in text.outputs]
        parts = [text.pieces[0]]
        for name, piece in zip(shown, text.pieces[1:], strict=True):
            parts += [name, piece]
        yield "with", f"{name_text(text.name)} = {''.join(parts)}"
    past = "is past" if alert.of_view else "has reached"
    yield "waits", f"looks at an observation when the watermark {past} its event time"
    yield "keeps", "a few numbers and the last observation of each key that is pending or firing"
