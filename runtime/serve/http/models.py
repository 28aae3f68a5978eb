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
    columns: list[ColumnInfo]
    text: str
    stopped: str | None = Field(
        None, description="Why the service answers it no more; null while it runs."
    )


class QueryList(BaseModel):
    """All registered queries."""

    queries: list[QueryInfo]


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


class Answer(BaseModel):
    """The value of a query at an instant."""

    query: str
    at: str | float | None
    columns: list[ColumnInfo]
    warnings: list[str]
    rows: list[dict[str, str | float | bool | None]]


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
