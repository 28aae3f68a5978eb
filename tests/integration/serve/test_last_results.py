"""The latest results as JSON, and a watcher that wants only so many a second."""

import json

import pytest

from cqc.runtime.serve.http.answers import wants_json
from tests.integration.serve.running import events_of, running

JSON = {"accept": "application/json"}


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("application/json", True),
        ("*/*", False),
        ("", False),
        ("text/event-stream, application/json", False),
    ],
)
def test_events_are_sent_unless_json_is_asked_for(accept: str, wanted: bool) -> None:
    assert wants_json(accept) == wanted


def test_the_latest_come_first_and_say_where_to_watch_on() -> None:
    with running() as service:
        service.push("s", *({"ts": n, "k": n, "x": 20.0} for n in range(5)))
        answer = service.client.get(
            "/queries/big/results", params={"limit": 2}, headers=JSON
        ).json()
        assert [each["row"]["k"] for each in answer["results"]] == [4, 3]
        service.push("s", {"ts": 9, "k": 9, "x": 20.0})
        [(identifier, following)] = service.watch(1, since=answer["next"])
        assert following["row"]["k"] == 9
        assert identifier != answer["next"]
        assert service.client.get("/results", headers=JSON).json()["results"][0]["id"] == identifier
        assert service.client.get("/queries/none/results", headers=JSON).status_code == 404


def test_a_watcher_that_wants_few_gets_the_latest_and_hears_how_many_were_left_out() -> None:
    with running() as service:
        service.push("s", *({"ts": n, "k": n, "x": 20.0} for n in range(1_000)))
        path, parameters = "/queries/big/results", {"since": "start", "most": 10}
        seen = []
        with service.client.stream("GET", path, params=parameters) as answer:
            for event in events_of(answer):
                seen.append(event)
                if len(seen) == 11:
                    break
        assert seen[0]["event"] == "skipped"
        assert json.loads(seen[0]["data"]) == {"count": 990}
        assert [json.loads(each["data"])["row"]["k"] for each in seen[1:]] == list(
            range(990, 1_000)
        )
