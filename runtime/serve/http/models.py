"""What goes over the wire as JSON, as the OpenAPI document describes it."""

from __future__ import annotations

from pydantic import BaseModel, Field


class NewQuery(BaseModel):
    """A query to register."""

    text: str = Field(description="A SELECT or a CREATE QUERY.")
    name: str | None = Field(
        None, description="What to call it; the next free q1, q2, ... if left out."
    )
    owner: str | None = Field(None, description="Who it is for, shown in lists.")
    replace: bool = Field(
        False, description="Take the place of a query of this name, if there is one."
    )


class Statements(BaseModel):
    """Statements of a running service."""

    text: str = Field(description="DROP, SHOW, DESCRIBE or CREATE QUERY; several with ; between.")


class Executed(BaseModel):
    """What the last statement gave."""

    statement: str
    query: str | None = None  # that was registered
    columns: list[str] | None = None  # of what SHOW or DESCRIBE tells
    rows: list[list[str | None]] | None = None


class QueryText(BaseModel):
    """What a query of a given name shall be."""

    text: str = Field(description="A SELECT or a CREATE QUERY; the name in the path counts.")
    owner: str | None = Field(None, description="Who it is for; as it was, if left out.")


class ColumnInfo(BaseModel):
    """One output column."""

    name: str
    type: str


class QueryInfo(BaseModel):
    """A registered query."""

    id: int = Field(description="Never given twice, also not after a restart.")
    name: str
    owner: str
    kind: str = Field(description="push, pull or every")
    age_seconds: float
    created: str
    results: int = Field(description="Result rows delivered.")
    invocations: int
    cost_seconds: float = Field(
        description="Processor time for it alone, what was measured of it in joins, its share of the rest."
    )
    kept_bytes: int = Field(
        description="What is kept for it beside the tuples of its streams; its part where others share it."
    )
    results_per_second: float = Field(description="Of about the last half minute.")
    shared_with: int = Field(
        description="How many other queries are answered by the same filter or join."
    )
    alone_seconds: float | None = Field(
        description="An estimate of what it would have cost alone; null until that is measured."
    )
    operator: str = Field(
        description="The filter or join that answers it, as in /graph; empty if stopped."
    )
    columns: list[ColumnInfo]
    text: str
    stopped: str | None = Field(
        None, description="Why the service answers it no more; null while it runs."
    )
    warnings: list[str] = Field([], description="What its author should know of it.")


class Fact(BaseModel):
    """One thing to know about how a query is answered, in words."""

    what: str
    text: str


class Histogram(BaseModel):
    """Results over time: how many came in each span of equal length."""

    begin: float = Field(description="Seconds since the epoch, or event time as a number.")
    seconds: float = Field(description="The length of one span.")
    counts: list[int]
    is_number: bool = Field(description="Whether the time is a number, not an instant.")


class QueryDetail(QueryInfo):
    """One registered query, how it is answered, and when its results came."""

    plan: list[Fact]
    same_question: list[str] = Field(
        description="Some of the queries that ask the same conditions of the same streams."
    )
    results_over_time: Histogram


class QueryList(BaseModel):
    """Registered queries: those that were asked for."""

    queries: list[QueryInfo]
    matching: int = Field(description="How many match what was searched for.")
    total: int = Field(description="How many are registered.")


class ResultInfo(BaseModel):
    """One result of a query; `ts` for those that happen, `at` for answers by EVERY."""

    id: str
    query: str
    ts: str | int | float | None = None
    at: str | int | float | None = None
    row: dict[str, str | int | float | bool | None]


class ResultList(BaseModel):
    """The latest results that are kept, the newest first."""

    results: list[ResultInfo]
    next: str = Field(description="Watch from here (`since`) to see what comes after them.")


class SinkInfo(BaseModel):
    """A sink of the program that queries send results to."""

    name: str
    type: str
    sent: int = Field(description="Results that the receiver has taken since the start.")
    waiting: int = Field(description="Results in the spool.")
    waiting_bytes: int
    dead: int = Field(description="Results that the receiver will never take.")
    dropped: int = Field(description="Results given up because the spool was full.")
    failures: int = Field(description="Attempts that failed.")
    is_failing: bool
    last_error: str
    last_sent: float = Field(description="Seconds since the epoch; 0 when nothing was sent yet.")


class SinkList(BaseModel):
    """All sinks that queries name."""

    sinks: list[SinkInfo]


class AlertInfo(BaseModel):
    """An alert, with how many of its keys are in which state."""

    name: str
    severity: str | None
    pending: int
    firing: int
    results: int = Field(description="What it has told since it was registered.")


class AlertKey(BaseModel):
    """A key of an alert that is pending or firing."""

    alert: str
    severity: str | None
    state: str
    key: dict[str, str | int | float | bool | None]
    since: str | int | float | None = Field(description="When it began to be bad.")
    last: str | int | float | None = Field(description="Its last observation.")
    count: int = Field(description="Bad observations since then.")
    told: bool = Field(description="Whether its firing was delivered; ONCE EVERY may hold it back.")
    row: dict[str, str | int | float | bool | None]


class AlertList(BaseModel):
    """All alerts, and the keys that are pending or firing, those that began first before others."""

    alerts: list[AlertInfo]
    keys: list[AlertKey]


class SinkTested(BaseModel):
    """A test result that a sink's receiver took."""

    sink: str
    id: str


class Pushed(BaseModel):
    """What became of pushed rows."""

    read: int
    accepted: int
    late: int
    rejected: int
    reasons: dict[str, int] = Field(description="Why rows were rejected.")
    waiting: int = Field(
        default=0,
        description="So many more rows are set aside now, because they are far ahead of their stream.",
    )
    nulled: dict[str, int] = Field(
        default_factory=dict,
        description="With `on_bad = 'null'`: fields that did not fit and became NULL, by the reason.",
    )
    warnings: list[str] = Field(
        default_factory=list,
        description="Declared columns that neither these rows nor any before had, with what they are probably called.",
    )


class Answer(BaseModel):
    """The value of a query at an instant."""

    query: str
    at: str | int | float | None
    columns: list[ColumnInfo]
    warnings: list[str]
    rows: list[dict[str, str | int | float | bool | None]]


class DiagnosticInfo(BaseModel):
    """One mistake in a query, as `cqc check --format json` shows it, and in more words."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    severity: str
    message: str
    hint: str | None
    detail: str | None


class Problem(BaseModel):
    """Why a request was refused."""

    error: str
    diagnostics: list[DiagnosticInfo] = Field(default_factory=list)


class BusyInfo(BaseModel):
    """What the engine has been doing for more than a moment."""

    what: str
    query: str | None = Field(description="Which query it is for, or mostly for; null if unknown.")
    since: str
    seconds: float


class Health(BaseModel):
    """Whether the service works."""

    status: str = Field(
        description="ok, busy (requests wait for one piece of work), recovering (the checkpoint is being read),"
        " or failed (it must be started again)."
    )
    recovered: float | None = Field(description="The share that is read while recovering.")
    busy: BusyInfo | None = Field(None, description="What it is busy with; null while it is not.")
    engine: str = Field(description="How the program's sources are read: local or spark.")
    caught_up: bool = Field(description="Whether everything in the program's sources was read.")
    queries: int
    tuples: int
    problems: list[str] = Field(description="What went wrong lately with sources and query files.")
