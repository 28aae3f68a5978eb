"""A client of a service that comes and goes: it numbers its rows, asks what has arrived, and sends the rest again."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx

from tests.integration.chaos.judging import lines_of
from tests.integration.chaos.ledger import Fault
from tests.integration.serve.running import events_of

if TYPE_CHECKING:
    from tests.integration.chaos.queries import Answer
    from tests.integration.chaos.world import Row, Stream

PATIENCE_S = 60.0
QUIET_S = 0.4  # results that are kept come without a pause longer than this
NOT_THERE = (httpx.TransportError, httpx.StreamError)


class ServiceClient:
    """Speaks to whichever process serves at present, and remembers every result id it was shown."""

    def __init__(self) -> None:
        self._http: httpx.Client | None = None
        self.shown: dict[str, str] = {}  # id -> result, in all lives of the service

    def connect(self, address: str) -> None:
        self.close()
        self._http = httpx.Client(base_url=address, timeout=PATIENCE_S, trust_env=False)

    def close(self) -> None:
        if self._http is not None:
            self._http.close()
            self._http = None

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response | None:
        """One request; None when nobody answers it, or the engine is busy."""
        if self._http is None:
            return None
        try:
            answer = self._http.request(method, path, **more)
        except NOT_THERE:
            return None
        if answer.status_code == 500:
            raise Fault("tracebacks", 1, f"{method} {path}: {answer.text[:300]}")
        return None if answer.status_code in (503, 504, 429) else answer

    def invoke(self, name: str) -> list[dict[str, Any]] | None:
        answer = self.ask("GET", f"/queries/{name}/invoke")
        if answer is None:
            return None
        if answer.status_code != 200:
            raise Fault(
                "lost", 1, f"cannot invoke {name}: {answer.status_code} {answer.text[:200]}"
            )
        rows: list[dict[str, Any]] = answer.json()["rows"]
        return rows

    def send(self, stream: Stream, rows: list[Row]) -> bool:
        """Send rows; False when it is not known what became of them."""
        body = [row.as_json() for row in rows]
        answer = self.ask("POST", f"/streams/{stream.name}", json=body)
        if answer is None:
            return False
        told = answer.json()
        if answer.status_code != 200 or told["accepted"] != len(rows):
            raise Fault("lost", len(rows), f"rows were not accepted: {answer.text[:200]}")
        return True

    def results(self) -> Answer | None:
        """Everything the service shows from the beginning on; None when it does not answer.

        Raises:
            Fault: when an id stands for something else than before.
        """
        if self._http is None:
            return None
        found: list[tuple[str, str]] = []
        wait = httpx.Timeout(PATIENCE_S, read=QUIET_S)
        try:
            with self._http.stream(
                "GET", "/results", params={"since": "start"}, timeout=wait
            ) as answer:
                for event in events_of(answer):
                    if event["event"] == "result":
                        found.append((event["id"], event["data"]))
                    elif event["event"] == "gap":
                        raise Fault("lost", 1, f"results are no longer kept: {event}")
        except httpx.ReadTimeout:
            pass  # that was all
        except NOT_THERE:
            return None
        self._check_ids(found)
        return sum((lines_of(data.encode()) for _, data in found), Counter())

    def _check_ids(self, found: list[tuple[str, str]]) -> None:
        ids = Counter(number for number, _ in found)
        twice = [number for number, count in ids.items() if count > 1]
        if twice:
            raise Fault("repeated", len(twice), f"ids that were given twice: {twice[:3]}")
        for number, data in found:
            before = self.shown.setdefault(number, data)
            if before != data:
                raise Fault("silently wrong", 1, f"id {number} was {before} and is {data}")

    def queries(self) -> dict[str, str] | None:
        """The registered queries with their texts."""
        answer = self.ask("GET", "/queries")
        if answer is None:
            return None
        return {each["name"]: each["text"] for each in json.loads(answer.text)["queries"]}
