"""Alerts as Alertmanager and chats want them."""

import json

from cqc.runtime.receivers.alert_payloads import (
    instant_text,
    label_name,
    posted_alert,
    slack_line,
    webhook_payload,
)

VALUE = {
    "query": "hot",
    "ts": "2024-01-01T00:10:00Z",
    "row": {"room": "a", "x": 27.5},
    "alert": {
        "state": "firing",
        "severity": "critical",
        "key": {"room no.": None, "1st": True, "x": 2},
        "since": "2024-01-01T00:00:00Z",
        "count": 3,
        "summary": "a is hot",
    },
}


def ended(state: str) -> dict[str, object]:
    return {**VALUE, "alert": {**VALUE["alert"], "state": state}}  # type: ignore[dict-item]


def test_characters_that_a_label_cannot_have_become_underscores() -> None:
    assert label_name("room no.") == "room_no_"
    assert label_name("1st") == "_st"
    assert label_name("größe") == "gr__e"


def test_labels_are_key_severity_and_name_and_annotations_the_texts() -> None:
    made = posted_alert("hot", VALUE, 1_704_067_800.0)
    assert made == {
        "labels": {
            "room_no_": "null",
            "_st": "true",
            "x": "2",
            "severity": "critical",
            "alertname": "hot",
        },
        "annotations": {"summary": "a is hot"},
        "startsAt": "2024-01-01T00:00:00Z",
        "endsAt": "2024-01-01T00:10:00.000Z",
    }


def test_what_has_ended_ends_at_its_time() -> None:
    for state in ("resolved", "no_data"):
        assert posted_alert("hot", ended(state), 0.0)["endsAt"] == "2024-01-01T00:10:00Z"


def test_numbers_are_seconds_since_1970() -> None:
    assert instant_text(1.5) == "1970-01-01T00:00:01.500Z"
    assert instant_text(0) == "1970-01-01T00:00:00.000Z"


def test_a_webhook_gets_what_alertmanager_sends() -> None:
    body = json.loads(webhook_payload([VALUE, ended("resolved")], "pager"))
    assert body["version"] == "4"
    assert body["status"] == "firing"
    assert body["receiver"] == "pager"
    assert [each["status"] for each in body["alerts"]] == ["firing", "resolved"]
    assert body["commonLabels"]["alertname"] == "hot"
    assert body["groupLabels"] == {"alertname": "hot"}
    first, second = body["alerts"]
    assert first["fingerprint"] == second["fingerprint"]
    assert first["endsAt"].startswith("0001-")
    assert second["endsAt"] == "2024-01-01T00:10:00Z"


def test_a_row_of_a_query_is_an_event_without_end() -> None:
    plain = {"query": "q", "ts": 5, "row": {"x": None}}
    (alert,) = json.loads(webhook_payload([plain], "pager"))["alerts"]
    assert alert["labels"] == {"alertname": "q"}
    assert alert["annotations"] == {"x": "null"}


def test_a_chat_reads_state_severity_key_and_summary() -> None:
    assert slack_line(VALUE) == (
        "*FIRING* hot (critical) [room no. = null, 1st = true, x = 2] 2024-01-01T00:10:00Z: a is hot"
    )
    assert slack_line({"query": "q", "ts": 5, "row": {"x": 1}}) == "*q* 5: x = 1"
