"""The eleven streams: how many events, which columns, how often text repeats in each and how long it is.

Shares are those of recorded events of Windows machines (647,017 of them, 600 MB as JSON lines); the text is not. A column's
`overall` is distinct values by values present, `packet` is distinct values by rows in packets of 10,000 rows.
"""

from __future__ import annotations

from dataclasses import dataclass

EVENTS = 648_360
PACKET = 10_000
WIDE = "events"
WIDE_COLUMNS = 201


@dataclass(frozen=True)
class Text:
    """A column: which kind of text, and how it repeats. A `pool` is a number of values whatever the size of the stream."""

    name: str
    kind: str
    overall: float = 0.0
    packet: float = 0.0
    median: int = 0
    last: int = 0
    present: float = 1.0
    pool: int = 0


@dataclass(frozen=True)
class Stream:
    """One stream; `times` is the share of distinct event times."""

    name: str
    events: int
    megabytes: float
    times: float
    columns: tuple[Text, ...]

    @property
    def width(self) -> int:
        """How many columns it has, event time included."""
        return len(self.columns) + 1

    def names(self) -> list[str]:
        """Its columns, event time first."""
        return ["ts", *(each.name for each in self.columns)]


def _few(name: str, kind: str, pool: int, present: float = 1.0, median: int = 0) -> Text:
    return Text(name, kind, pool=pool, present=present, median=median)


_HOST = _few("host", "host", 12)
_RECORD = Text("record_id", "record")
_BASE = (_HOST, _RECORD)
_PROCESS = (Text("process_id", "process_id"), Text("process_guid", "process_guid"))
_SOME_PROCESS = (_PROCESS[0], Text("process_guid", "process_guid", present=0.4))
_USER = _few("user", "user", 14)


def _fields(name: str, count: int, first: int = 0) -> tuple[Text, ...]:
    """Columns that only the rows of some event numbers have."""
    return tuple(
        Text(f"{name}_{at:02d}", "field", pool=6 + 5 * (at % 7))
        for at in range(first, first + count)
    )


def _file_facts(present: float) -> tuple[Text, ...]:
    """What the file of a program says about itself."""
    return (
        _few("file_version", "version", 90, present),
        _few("description", "phrase", 110, present, median=24),
        _few("product", "phrase", 80, present, median=26),
        _few("company", "phrase", 30, present, median=18),
        _few("original_file_name", "library", 140, present),
    )


STREAMS = (
    Stream("process_access", 223_340, 203, 0.30, (
        *_BASE,
        *_PROCESS,
        Text("source_image", "image", 0.0006, 0.003, 35),
        Text("target_process_id", "process_id"),
        Text("target_image", "image", 0.0016, 0.008, 31),
        _few("granted_access", "access", 12),
        Text("call_trace", "call_trace", 0.012, 0.036, 572, 1047),
        _few("source_user", "user", 8, present=0.4),
        _few("target_user", "user", 8, present=0.4),
    )),
    Stream("registry", 162_210, 55, 0.20, (
        *_BASE,
        *_PROCESS,
        _few("event_type", "event_type", 5),
        Text("image", "image", 0.0014, 0.004, 31),
        Text("target_object", "key", 0.22, 0.29, 76, 332),
        _few("details", "details", 400, present=0.45),
        _few("user", "user", 14, present=0.2),
        _few("rule_name", "phrase", 12, present=0.1, median=14),
    )),
    Stream("security", 104_952, 41, 0.15, (
        *_BASE,
        _few("event_id", "security_id", 16),
        Text("process_id", "process_id", present=0.6),
        Text("object_name", "object_name", 0.015, 0.0055, 58, 120, 0.23),
        _few("subject_user", "user", 14),
        _few("process_name", "image", 60, present=0.6),
        *_fields("data", 81),
    )),
    Stream("image_load", 57_274, 42, 0.25, (
        *_BASE,
        *_PROCESS,
        Text("image", "image", 0.008, 0.02, 34),
        Text("image_loaded", "library_path", 0.06, 0.11, 38, 90),
        *_file_facts(1.0),
        Text("hashes", "hashes", 0.06, 0.11, 195),
        _few("signed", "boolean", 2),
        _few("signature", "phrase", 12, median=17),
        _few("signature_status", "status", 4),
        _USER,
    )),
    Stream("powershell_classic", 40_784, 5, 0.40, (
        *_BASE,
        _few("event_id", "classic_id", 4),
        _few("provider", "provider", 8),
        _few("state", "state", 3, present=0.6),
    )),
    Stream("powershell", 37_935, 212, 0.60, (
        *_BASE,
        _few("event_id", "powershell_id", 4),
        Text("process_id", "process_id"),
        Text("context", "context", 0.99, 0.91, 5674, 5772, 0.92),
        Text("payload", "payload", 0.056, 0.08, 122, 17_284),
        Text("script_text", "script", 0.95, 0.019, 1031, 19_473, 0.02),
        _few("script_path", "script_path", 30, present=0.1),
    )),
    Stream("file", 8_393, 3, 0.50, (
        *_BASE,
        *_PROCESS,
        Text("image", "image", 0.012, 0.012, 34),
        Text("target_filename", "file_name", 0.50, 0.50, 93, 202),
        _few("creation_time", "moment", 300, present=0.4),
        _few("user", "user", 14, present=0.5),
        *(_few(f"file_{each}", "field_text", 9, present=0.06) for each in ("attribute", "stream", "owner", "zone", "share", "access", "previous")),
    )),
    Stream("network", 3_100, 1, 0.60, (
        *_BASE,
        *_SOME_PROCESS,
        Text("image", "image", 0.02, 0.02, 34),
        _few("user", "user", 14, present=0.3),
        _few("protocol", "protocol", 2),
        _few("initiated", "boolean", 2),
        _few("source_ip", "address", 14),
        _few("source_port", "port", 900, present=0.5),
        _few("destination_ip", "address", 420),
        _few("destination_hostname", "host_name", 160, present=0.4),
        _few("destination_port", "port", 40),
        *(_few(f"net_{each}", "field_text", 9, present=0.05) for each in ("zone", "interface", "direction", "policy", "country")),
    )),
    Stream("sysmon", 3_895, 1, 0.50, (
        *_BASE,
        *_SOME_PROCESS,
        _few("event_id", "sysmon_id", 10),
        Text("image", "image", 0.02, 0.02, 34),
        _few("pipe_name", "pipe", 40, present=0.2),
        _few("query_name", "host_name", 300, present=0.3),
        _few("query_results", "address", 200, present=0.2),
        _few("config", "phrase", 6, present=0.05, median=20),
        *(_few(f"sys_{each}", "field_text", 12, present=0.08) for each in ("operation", "consumer", "filter", "destination", "device", "driver", "tag", "archived")),
    )),
    Stream("winlog", 4_100, 1, 0.60, (
        *_BASE,
        _few("event_id", "winlog_id", 40),
        _few("channel", "channel", 14, present=0.4),
        _few("provider", "provider", 30, present=0.5),
        Text("message", "message", 0.57, 0.57, 135, 714),
        *_fields("data", 28),
        *_fields("log", 37),
    )),
    Stream("process_creation", 2_377, 2, 0.50, (
        *_BASE,
        *_PROCESS,
        Text("image", "image", 0.12, 0.12, 36),
        Text("command_line", "command_line", 0.31, 0.30, 55, 5144, 0.97),
        _few("current_directory", "folder", 40, present=0.3),
        _few("user", "user", 14, present=0.6),
        _few("logon_id", "access", 60),
        _few("integrity_level", "integrity", 4),
        _few("hashes", "hashes", 260, present=0.6),
        Text("parent_process_id", "process_id"),
        Text("parent_process_guid", "process_guid", present=0.3),
        Text("parent_image", "image", 0.03, 0.03, 34),
        Text("parent_command_line", "command_line", 0.12, 0.12, 44, 150),
        *_file_facts(0.4),
        _few("terminal_session", "small_number", 4),
    )),
)  # fmt: skip
BY_NAME = {each.name: each for each in STREAMS}


def wide_columns() -> list[str]:
    """The columns of all streams as one: event time, which stream a row is of, and every name once."""
    names = dict.fromkeys(name for each in STREAMS for name in each.names())
    return ["ts", "category", *(name for name in names if name != "ts")]
