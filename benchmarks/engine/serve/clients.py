"""Clients of a service under load: each a thread with one connection, doing what people do."""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.parse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import threading

    from cqc.benchmarks.engine.serve.workload import Question, Recorder

_TIMEOUT_S = 60.0
_ARROW = "application/vnd.apache.arrow.stream"


KINDS = ("push", "invoke", "register", "unregister")


@dataclass(slots=True)
class Outcome:
    """What one client saw: how long each kind of request took, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    wrong: list[str] = field(default_factory=list)
    checked: int = 0


class Client:
    """One connection to a service."""

    def __init__(self, address: str) -> None:
        place = urllib.parse.urlsplit(address)
        self._connection = http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=_TIMEOUT_S
        )
        self.outcome = Outcome()

    def send(
        self, kind: str, method: str, path: str, body: bytes | None = None, form: str = ""
    ) -> Any:
        """One request; its JSON. An answer that is no success is noted."""
        headers = {"content-type": form} if form else {}
        started = time.perf_counter()
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        self.outcome.seconds[kind].append(time.perf_counter() - started)
        if answer.status >= 300:
            self.outcome.wrong.append(f"{kind}: {answer.status} {text[:200]!r}")
            return None
        return json.loads(text) if text else None

    def close(self) -> None:
        self._connection.close()


def feed(client: Client, recorder: Recorder, stop: threading.Event) -> None:
    """Push micro-batches one after the other, as fast as they are acknowledged."""
    while not stop.is_set():
        body, batch = recorder.next_batch()
        answer = client.send("push", "POST", "/streams/traffic", body, _ARROW)
        if answer is None:
            break
        recorder.acknowledge(batch)
    client.close()


def ask(
    client: Client, asked: list[Question], recorder: Recorder, stop: threading.Event, seed: int
) -> None:
    """Invoke, and now and then register a query, invoke it and remove it; a sample of the answers is judged."""
    chooser = random.Random(seed)
    while not stop.is_set():
        at = chooser.randrange(len(asked))
        if chooser.random() < 0.1:
            name = f"own_{seed}"
            body = json.dumps({"text": asked[at].text, "name": name}).encode()
            made = client.send("register", "POST", "/queries", body, "application/json")
            if made is not None:
                _invoke(client, name, asked[at], recorder, judge=True)
                client.send("unregister", "DELETE", f"/queries/{name}")
        else:
            judge = chooser.random() < 0.1
            _invoke(client, f"c{at}", asked[at], recorder, judge=judge)
    client.close()


def _invoke(
    client: Client, name: str, question: Question, recorder: Recorder, *, judge: bool
) -> None:
    at = recorder.settled
    path = f"/queries/{name}/invoke" + (f"?at={at}" if judge else "")
    answer = client.send("invoke", "GET", path)
    if answer is None or not judge:
        return
    client.outcome.checked += 1
    expected = recorder.expected(question, at)
    if answer["rows"] != [expected]:
        client.outcome.wrong.append(f"{name} at {at}: {answer['rows']} instead of {expected}")
