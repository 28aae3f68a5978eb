"""A service without its network, with a few queries and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cqc
from cqc.runtime.serve.service import Service

if TYPE_CHECKING:
    from cqc.runtime.serve.limits import Limits

PROGRAM = """
CREATE STREAM s (ts BIGINT, k BIGINT, x DOUBLE);
CREATE STREAM r (ts BIGINT, k BIGINT);
CREATE TABLE t (k BIGINT, name STRING);
CREATE QUERY big AS SELECT k, x FROM s WHERE x > 10;
CREATE QUERY small AS SELECT k FROM s WHERE x < 0 AND k = 3;
CREATE QUERY quiet AS SELECT k FROM r WHERE k > 1000;
CREATE QUERY pairs AS SELECT s.k FROM s, r WHERE s.k = r.k MAXWINDOW 10 SEC;
CREATE QUERY total AS SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW;
"""


def service_of(program: str = PROGRAM, limits: Limits | None = None) -> Service:
    return Service(cqc.compile(program), limits=limits)


def push(service: Service, stream: str, *rows: dict[str, Any]) -> None:
    service.take(stream, service.engine.lines[stream].take(list(rows)))
    service.commit()


def rows_of(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"ts": start + n, "k": n % 5, "x": float(n)} for n in range(count)]
