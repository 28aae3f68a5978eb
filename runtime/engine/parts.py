"""The parts of one engine: each is there once, and whoever lets rows or queries through is given all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cqc.runtime.alerts.alert_queries import AlertQueries
    from cqc.runtime.deliver.deliver import Deliveries
    from cqc.runtime.engine.absent_queries import AbsentQueries
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.engine.derived_streams import DerivedStreams
    from cqc.runtime.engine.relations import Relations
    from cqc.runtime.pull.pull_queries import PullQueries
    from cqc.runtime.windows.decided_queries import DecidedQueries


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What packets go through, and where queries are registered."""

    relations: Relations  # the streams and tables
    circuit: Circuit  # the operators
    deliveries: Deliveries  # push queries, and what they select
    pulls: PullQueries  # queries with BEGIN-END
    views: DerivedStreams  # the views that push queries read
    absent: AbsentQueries  # queries whose rows depend on what is not there
    decided: DecidedQueries  # queries whose rows wait for the watermark
    alerts: AlertQueries  # queries of CREATE ALERT
