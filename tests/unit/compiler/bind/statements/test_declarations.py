import pytest

from cqc.compiler.meaning.catalog import Relation
from tests.support.bind_text import bind_text


def declare(text: str) -> Relation:
    result = bind_text(text)
    assert [d.message for d in result.diagnostics] == []
    (relation,) = result.catalog.relations.values()
    return relation


@pytest.mark.parametrize(
    ("columns", "position", "delay_us"),
    [
        ("a TIMESTAMP, b TIMESTAMP, ts TIMESTAMP", 2, 0),
        ("a DOUBLE, at TIMESTAMP", 1, 0),
        ("a TIMESTAMP, TS BIGINT", 1, 0),
        ("ts TIMESTAMP, at TIMESTAMP, WATERMARK FOR at AS at - 1.5 SEC", 1, 1_500_000),
        ("n DOUBLE, WATERMARK FOR N AS (n - 2)", 0, 2_000_000),
        ("ts TIMESTAMP, WATERMARK FOR ts AS ts", 0, 0),
        ("ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND", 0, 2_000_000),
    ],
)
def test_event_time_and_delay_are_chosen(columns: str, position: int, delay_us: int) -> None:
    stream = declare(f"CREATE STREAM s ({columns})")
    assert (stream.event_time, stream.delay_us) == (position, delay_us)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CREATE STREAM s (a DOUBLE)", "CQ022"),
        ("CREATE STREAM s (a TIMESTAMP, b TIMESTAMP)", "CQ022"),
        ("CREATE STREAM s (ts STRING, at TIMESTAMP)", "CQ023"),
        ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS ts + 1 s)", "CQ024"),
        ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS ts - ts)", "CQ024"),
        ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR at AS at - 1 s)", "CQ031"),
        ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 'x' s)", "CQ059"),
        ("CREATE TABLE s (ts TIMESTAMP, WATERMARK FOR ts AS ts - 1 s)", "CQ025"),
        ("CREATE TABLE s (a BIGINT, A BIGINT)", "CQ021"),
        ("CREATE TABLE s (a BIGINT); CREATE STREAM S (ts BIGINT)", "CQ020"),
        ("CREATE TABLE s (a BIGINT) WITH (path = 'x', PATH = 'y')", "CQ026"),
        ("SET retention = 5", "CQ028"),
        ("SET IDLE = -5 SEC", "CQ028"),
        ("SET idle = 0 SEC", "CQ053"),
        ("SET speed = 5 SEC", "CQ027"),
    ],
)
def test_wrong_declarations_are_reported_once(text: str, code: str) -> None:
    assert [d.code for d in bind_text(text).diagnostics] == [code]


def test_a_table_has_no_event_time_even_with_a_column_named_ts() -> None:
    assert not declare("CREATE TABLE s (ts TIMESTAMP)").is_stream


def test_options_are_texts_under_folded_keys() -> None:
    options = declare(
        "CREATE STREAM s (ts BIGINT) WITH (Format = 'KAFKA', TOPIC = 5, Servers = TRUE)"
    ).options
    assert options == {"format": "KAFKA", "topic": "5", "servers": "true"}


def test_settings_are_durations() -> None:
    settings = bind_text(
        "SET RETENTION = 1 HOUR; SET idle = (30 s); set max_ahead = 1 DAY;"
    ).catalog.settings
    assert (settings.retention_us, settings.idle_us) == (3_600_000_000, 30_000_000)
    assert settings.max_ahead_us == 86_400_000_000
    assert bind_text("SET MAX_AHEAD = 0 SEC").catalog.settings.max_ahead_us == 0


def test_settings_not_given_are_none() -> None:
    settings = bind_text("").catalog.settings
    assert (settings.retention_us, settings.idle_us) == (None, None)
