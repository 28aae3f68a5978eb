"""What the console asks for, as JSON: the service at a glance, its graph, a query that is only tried."""

from __future__ import annotations

from pydantic import BaseModel, Field

from cqc.runtime.serve.http.models import (  # noqa: TC001 - fields are made of them
    Answer,
    ColumnInfo,
    DiagnosticInfo,
    Fact,
    Health,
    Histogram,
    ResultInfo,
    SinkInfo,
)


class StreamInfo(BaseModel):
    """One stream or table as it stands."""

    name: str
    kind: str = Field(description="stream or table")
    read: int
    per_second: float
    late: int
    rejected: int
    reasons: dict[str, int] = Field(description="Why rows were rejected.")
    waiting: int = Field(description="Rows far ahead of their stream.")
    queries: int = Field(description="How many read it.")
    rows: int = Field(description="Tuples that are kept.")
    bytes: int = Field(description="Of them and of what is derived from them.")
    watermark: str | int | float | None
    latest: str | int | float | None = Field(description="The latest event time seen.")
    lag_seconds: float | None = Field(
        description="How far the watermark is behind the clock; null where event time is a number."
    )
    idle: bool = Field(description="Nothing came for longer than IDLE_TIMEOUT.")


class QueryCounts(BaseModel):
    """How many queries of each kind there are."""

    push: int
    pull: int
    every: int
    stopped: int


class Sharing(BaseModel):
    """What sharing saves, of the queries for which it is measured."""

    cost_seconds: float = Field(description="What all queries have cost, together.")
    priced_cost_seconds: float = Field(description="Of that, those with an estimate.")
    alone_seconds: float = Field(description="What those would have cost one by one.")


class HistoryInfo(BaseModel):
    """The last ten minutes, a value a second."""

    at: list[float]
    tuples: list[float]
    results: list[float]
    load: list[float] = Field(description="The share of its time that the engine works.")
    memory: list[float]


class SeverityInfo(BaseModel):
    """The keys of all alerts of one severity."""

    severity: str | None
    alerts: int
    pending: int
    firing: int


class Overview(BaseModel):
    """The service at a glance."""

    version: str
    now: str
    uptime_seconds: float
    role: str = Field(description="What the caller may do: admin, user or reader.")
    user: str | None
    has_tokens: bool
    health: Health
    tuples: int
    results: int
    late: int
    rejected: int
    tuples_per_second: float
    results_per_second: float
    load: float
    queries: QueryCounts
    memory_bytes: int
    state_bytes: int
    operator_bytes: int
    kept_result_bytes: int
    sharing: Sharing
    streams: list[StreamInfo]
    alerts: list[SeverityInfo] = Field(
        description="By severity, those with most keys firing first."
    )
    sinks: list[SinkInfo] = Field(description="With what waits for each.")
    history: HistoryInfo | None = Field(description="Where it was asked for.")


class PartInfo(BaseModel):
    """A column of a filter, or a condition, and how many queries ask it."""

    label: str
    queries: int


class GraphNode(BaseModel):
    """One operator, for all the queries that it serves."""

    id: str
    kind: str = Field(
        description="source, filter, state, join, condition, history (kept results) or deliver"
    )
    label: str
    queries: int
    parts: list[PartInfo]
    more_parts: int
    names: list[str] = Field(description="Some of its queries.")
    note: str
    counts: dict[str, float] = Field(
        description="in, out, seconds, bytes, kept, late, rejected: what was counted of it."
    )


class GraphEdge(BaseModel):
    """Data flows from one operator to another, for so many queries."""

    source: str
    target: str
    queries: int
    flow: float | None = Field(
        None, description="Tuples or results that went along it; null where that is not counted."
    )


class GraphPath(BaseModel):
    """The part of the graph that one query uses."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]


class LiveGraphInfo(BaseModel):
    """The shared graph with what was counted."""

    queries: int
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    path: GraphPath | None = Field(description="Of the query that was asked for.")


class TryQuery(BaseModel):
    """A query that is looked at and not registered."""

    text: str = Field(description="A SELECT or a CREATE QUERY.")
    name: str | None = Field(None, description="The name that it shall have.")
    at: str | None = Field(
        None, description="The instant that a query with BEGIN-END is asked about."
    )


class Checked(BaseModel):
    """What is wrong with a query, or how it would be answered."""

    ok: bool
    diagnostics: list[DiagnosticInfo]
    name: str | None = Field(description="The name that it would have.")
    replaces: bool = Field(description="Whether there is a query of that name.")
    kind: str | None
    columns: list[ColumnInfo]
    plan: list[Fact]
    shared_with: int = Field(description="Queries that the same filter or join answers already.")
    same_question: list[str] = Field(description="Some that ask the same conditions.")


class Previewed(BaseModel):
    """What a query finds in the retained past."""

    kind: str
    columns: list[ColumnInfo]
    rows: int = Field(description="Of the past that were gone through.")
    seconds: float
    results: int
    latest: list[ResultInfo] = Field(description="The last ones, the newest first.")
    over_time: Histogram | None = Field(description="Results by event time.")
    answer: Answer | None = Field(description="Of a query with BEGIN-END and without EVERY.")
    cut: str = Field(description="What was left out; empty if nothing was.")


class FunctionInfo(BaseModel):
    """A function that a query can call."""

    name: str
    arguments: str
    summary: str
    aggregate: bool


class RelationInfo(BaseModel):
    """A declared stream or table."""

    name: str
    kind: str
    columns: list[ColumnInfo]
    event_time: str | None


class Schema(BaseModel):
    """What a query can speak of."""

    relations: list[RelationInfo]
    functions: list[FunctionInfo]
    keywords: list[str]
