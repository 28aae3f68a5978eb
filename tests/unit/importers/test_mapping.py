from pathlib import Path

import pytest

pytest.importorskip("yaml")

from cqc.importers.mapping import MappingError, known_mappings, load_mapping
from cqc.importers.streams import Streams


def test_a_log_source_is_a_stream_of_its_parts() -> None:
    mapping = load_mapping()
    assert mapping.place("windows", "process_creation", None).stream == "windows_process_creation"
    assert mapping.place("windows", None, "security").stream == "windows_security"
    assert mapping.place("Zeek X", None, "dns-2").stream == "zeek_x_dns_2"


def test_a_users_file_says_where_things_are(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text(
        "- {logsource: {product: windows}, timestamp: Event.Time, prefix: Event.Data, fields: {Computer: Event.Host}}\n"
        "- {logsource: {product: windows, category: dns}, stream: names, with: {path: dns.jsonl}}\n"
    )
    mapping = load_mapping(str(path))
    streams, place = Streams(delay=""), mapping.place("windows", "dns", None)
    stream = streams.named(place.stream, place)
    assert [stream.column(name) for name in ("QName", "qname", "Computer")] == [
        "QName",
        "QName",
        "Computer",
    ]
    assert streams.declarations == (
        "CREATE STREAM names (\n  ts TIMESTAMP FROM 'Event.Time',\n  Computer STRING FROM 'Event.Host',\n"
        "  QName STRING FROM 'Event.Data.QName')\n  WITH (path = 'dns.jsonl');\n"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- {logsource: {produkt: x}}", "unknown key 'produkt'"),
        ("- {colour: x}", "unknown key 'colour'"),
        ("just text", "a list of entries"),
        ("[", "is not YAML"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "mine.yml"
    path.write_text(text)
    with pytest.raises(MappingError, match=reason):
        load_mapping(str(path))


def test_the_mappings_of_cqc_can_be_read() -> None:
    assert "default" in known_mappings()
    for name in known_mappings():
        load_mapping(name)


def test_conditions_tell_log_sources_of_one_stream_apart() -> None:
    mapping = load_mapping("windows", "sysmon")
    place = mapping.place("windows", "registry_event", None)
    assert (place.stream, place.conditions) == ("windows_sysmon", {"EventID": ("12", "13", "14")})
    assert mapping.place("windows", None, "security").conditions == {}
