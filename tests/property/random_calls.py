"""Random calls of a built-in function, made from its entry in the registry: a new function needs no line here.

Arguments are columns of the types that the rule takes, now and then a constant or NULL. The rows hold the values that are easy to
get wrong.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import cqc
from cqc.compiler.functions.argument_rules import NUMBER, ArgumentRule
from cqc.compiler.meaning.types import ColumnType as T
from tests.support.duckdb_judge import EPOCH
from tests.support.oracle.times import from_ymd

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from cqc.compiler.functions.entry import ScalarEntry
    from cqc.compiler.program import Program
    from tests.support.oracle.scalars import Row, Value

# Two columns of each kind, so that arguments can differ. `little` is BIGINT too, for positions and counts.
KINDS = ("whole", "little", "real", "text", "flag", "moment", "day")
TYPES = {
    "whole": T.BIGINT,
    "little": T.BIGINT,
    "real": T.DOUBLE,
    "text": T.STRING,
    "flag": T.BOOLEAN,
    "moment": T.TIMESTAMP,
    "day": T.DATE,
}
COLUMNS = [(f"{kind}_{number}", TYPES[kind]) for kind in KINDS for number in (1, 2)]
STREAM = f"CREATE STREAM s (ts BIGINT, {', '.join(f'{n} {t.value}' for n, t in COLUMNS)});"

VALUES: dict[str, list[Value]] = {
    "whole": [0, 1, -1, 7, -12, 10**6, 2**53 + 1, 2**63 - 1, -(2**63)],
    "little": [0, 1, 2, 3, -1, -2, -9, 20, -(2**31), 2**31],
    "real": [0.0, -0.0, 1.0, -2.5, 0.1, 2.675, 1e7, -1e300, 1e-300, math.nan, math.inf, -math.inf],
    "text": [
        "",
        "a",
        "ab",
        "aXbXa",
        "École",
        "  two words ",
        "it's",
        "12",
        "%_",
        "x\ty",
        "日本",
        "e\u0301x",
    ],
    "flag": [True, False],
    "moment": [
        0,
        1_704_067_205_500_000,
        -1,
        1_709_208_000_000_000,
        951_782_400_000_000,
        1_711_848_600_000_000,
        -62_135_596_800_000_000,
    ],
    "day": [0, -1, 19_782, 19_783, 11_016, -719_162, 2_932_896, 18_628],
}
CONSTANTS = {
    "whole": ["0", "1", "-3", "9223372036854775807"],
    "little": ["0", "1", "2", "-1", "9"],
    "real": ["0.5", "-2.5", "1e7"],
    "text": ["''", "'a'", "'X'", "'École'", "' '"],
    "flag": ["TRUE", "FALSE"],
    "moment": ["TIMESTAMP '2024-01-01 00:00:05'", "TIMESTAMP '2024-02-29 23:59:59.999999'"],
    "day": ["DATE '2024-02-29'", "DATE '2023-01-01'"],
}


# Arguments that random values would hardly ever hit, by function and place.
_PATTERNS = ["'a|X'", "'(a)(b)?'", "'[A-Z]'", "'[0-9]+'", "'b*'", "'(\\w+) '", "text_1"]
_FORMATS = [
    "'yyyy-MM-dd HH:mm:ss'",
    "'yyyy/M/d'",
    "'EEEE, d MMM h:mm a'",
    "'HH:mm:ss.SSS'",
    "'yy ''Q''q D'",
]
_READ = ["'yyyy-MM-dd HH:mm:ss'", "'dd.MM.yyyy'", "'HH:mm'"]
_TIME_TEXTS = [
    "'2024-02-29 13:45:06'",
    "'29.02.2024'",
    "'30.02.2024'",
    "'13:45'",
    "moment_1",
    "day_1",
    "whole_1",
]
_UNITS = ["HOUR", "MONTH", "QUARTER", "YEAR", "WEEK", "DAY", "MICROSECOND", "SECOND"]
_ZONES = ["'Europe/Berlin'", "'America/New_York'", "'Asia/Kolkata'", "'UTC'", "text_1"]
_NUMBERS = [
    "array(little_1, little_2, 3)",
    "array(little_1, NULL, little_1)",
    "IF(flag_1, array(little_1), NULL)",
    "slice(array(little_1, 2), 1, 0)",
]
_ARRAYS = [*_NUMBERS, "array(text_1, 'a', text_2)", "array(real_1, real_2)"]
_MAPS = ["map('a', little_1, 'b', 2)", "map(text_1, 1)", "IF(flag_1, map('x', 1), NULL)"]
SPECIAL: dict[str, dict[int, list[str]]] = {
    "format_string": {
        0: ["'%s and %s'", "'%d'", "'%s'", "'%05.1f|'", "'100%%'", "'%q'", "'%s %s %s %s'"]
    },
    "regexp_like": {1: _PATTERNS},
    "regexp_extract": {1: _PATTERNS, 2: ["0", "1", "2", "little_1"]},
    "regexp_replace": {
        1: _PATTERNS,
        2: ["'<$1>'", "'-'", "'$0$0'", "'\\$'", "''"],
        3: ["1", "2", "3"],
    },
    "regexp_extract_all": {1: _PATTERNS, 2: ["0", "1", "2", "little_1"]},
    "split": {1: [*_PATTERNS, "'X'", "''", "' '"], 2: ["0", "1", "2", "-1", "little_1"]},
    "unbase64": {0: ["'YWJj'", "'YW=='", "'YWJ'", "'Y'", "text_1"]},
    "unhex": {0: ["'4a'", "'abc'", "'é'", "text_1", "whole_1"]},
    "split_part": {1: ["'X'", "' '", "text_1"]},
    "sha2": {1: ["0", "224", "256", "384", "512", "1", "little_1"]},
    "conv": {
        0: ["'ff'", "'-10'", "'zz'", "whole_1", "text_1"],
        1: ["10", "16", "36", "1"],
        2: ["2", "10", "-10", "36"],
    },
    "parse_url": {
        0: ["'http://a.example/p?x=1&y=2'", "'http://h/p'", "text_1"],
        1: ["'HOST'", "'PATH'", "'QUERY'", "'NOPE'"],
        2: ["'x'", "'z'"],
    },
    "get_json_object": {
        0: [
            '\'{"a": [1, {"b": "x"}], "c": null, "d": 1.50, "e": true}\'',
            "'[1, [2, 3]]'",
            "'{\"a\"'",
            "'\"x\"'",
            "whole_1",
            "text_1",
        ],
        1: [
            "'$'",
            "'$.a'",
            "'$.a[1].b'",
            "'$.a[0]'",
            "'$.c'",
            "'$.d'",
            "'$.e'",
            "'$[1][0]'",
            "'a'",
        ],
    },
    "date_trunc": {
        0: [
            "'YEAR'",
            "'quarter'",
            "'MON'",
            "'week'",
            "'DD'",
            "'Hour'",
            "'minute'",
            "'second'",
            "'millisecond'",
            "'nope'",
        ]
    },
    "date_format": {1: _FORMATS},
    "from_unixtime": {0: ["little_1", "real_1", "whole_1"], 1: _FORMATS},
    "to_timestamp": {0: _TIME_TEXTS, 1: _READ},
    "to_date": {0: _TIME_TEXTS[:-1], 1: _READ},
    "unix_timestamp": {0: _TIME_TEXTS[:-1], 1: _READ},
    "next_day": {1: ["'MO'", "'Tue'", "'sunday'", "'x'", "text_1"]},
    "timestampadd": {0: _UNITS, 1: ["1", "-13", "little_1", "100000", "whole_1"]},
    "timestampdiff": {0: _UNITS},
    "make_date": {
        0: ["2024", "1900", "little_1"],
        1: ["2", "12", "13", "little_1"],
        2: ["29", "31", "1"],
    },
    "make_timestamp": {
        0: ["2024", "1900", "little_1"],
        1: ["2", "12", "13", "little_1"],
        2: ["29", "31", "1"],
        3: ["0", "23", "24"],
        4: ["0", "59", "60"],
        5: ["0.5", "60", "59.999999", "60.5", "real_1"],
        6: _ZONES,
    },
    "from_utc_timestamp": {1: _ZONES},
    "to_utc_timestamp": {1: _ZONES},
    "cidr_match": {
        0: ["'10.1.2.3'", "'::ffff:10.0.0.1'", "'fe80::1'", "'10.0.0.256'", "text_1"],
        1: ["'10.0.0.0/8'", "'fe80::/10'", "'10.1.2.3'"],
        2: ["'0.0.0.0/0'", "'::/0'"],
        3: ["'1.2.3.4/31'"],
    },
    "is_private_ip": {
        0: ["'192.168.3.4'", "'8.8.8.8'", "'fd00::1'", "'::1'", "'::2'", "'127.1'", "text_1"]
    },
    "haversine": {at: ["52.5", "13", "-89.9", "179.5", "0.25"] for at in range(4)},
    "size": {0: _ARRAYS},
    "element_at": {0: _NUMBERS, 1: ["1", "-1", "2", "5", "little_1"]},
    "array_contains": {0: _NUMBERS, 1: ["3", "little_1", "little_2"]},
    "array_position": {0: _NUMBERS, 1: ["3", "little_1", "little_2"]},
    "array_join": {0: _NUMBERS, 1: ["','", "text_1"], 2: ["'?'", "text_2"]},
    "array_distinct": {0: _NUMBERS},
    "array_max": {0: _ARRAYS},
    "array_min": {0: _ARRAYS},
    "slice": {0: _NUMBERS, 1: ["1", "-2", "little_1", "0"], 2: ["2", "0", "little_2"]},
    "sort_array": {0: _NUMBERS, 1: ["TRUE", "FALSE", "flag_1"]},
    "flatten": {0: ["array(array(little_1), array(1, 2))", "array(IF(flag_1, array(1), NULL))"]},
    "array": {0: ["little_1"], 1: ["2"]},
    "map": {0: ["'a'"], 1: ["little_1"]},
    "map_keys": {0: _MAPS},
    "map_values": {0: _MAPS},
    "named_struct": {0: ["'a'"], 1: ["little_1", "text_1"], 2: ["'b'"], 3: ["flag_1"]},
    "to_json": {0: ["named_struct('a', little_1, 'b', text_1)", "array(little_1, NULL)"]},
    "from_json": {0: ["'{\"a\": 1}'", "'{\"a\": null}'"], 1: ["'a BIGINT'"]},
    "hex": {0: ["whole_1", "real_1", "text_1", "flag_1", "NULL"]},
    "url_decode": {0: ["'a%20b+c'", "'%zz'", "'%C3%A9'", "text_1"]},
    "levenshtein": {2: ["1", "3", "little_1"]},
}


_COUNTS = {"array": 2, "map": 2, "named_struct": 4, "from_json": 2}

ONLY = (
    "haversine",
    "size",
    "element_at",
    "array_contains",
    "array_position",
    "array_join",
    "array_distinct",
    "array_max",
    "array_min",
    "slice",
    "sort_array",
    "flatten",
    "array",
    "map",
    "map_keys",
    "map_values",
    "named_struct",
    "to_json",
    "from_json",
    "date_format",
    "from_unixtime",
    "from_utc_timestamp",
    "hex",
    "to_utc_timestamp",
)
"""Functions for which the oracle knows these arguments and no others."""


def random_rows(random: Random, count: int, more_letters: str = "") -> list[Row]:
    """Rows of the stream; a value in eight is NULL."""
    return [
        (
            number,
            *(random_value(random, name.rpartition("_")[0], more_letters) for name, _ in COLUMNS),
        )
        for number in range(count)
    ]


def random_value(random: Random, kind: str, more_letters: str = "") -> Value:
    """NULL, one of the values that are easy to get wrong, or any value."""
    if random.random() < 0.125:
        return None
    if random.random() < 0.6 or kind in ("flag", "little"):
        return random.choice(VALUES[kind])
    if kind == "whole":
        return random.randint(-(2**63), 2**63 - 1) >> random.randrange(64)
    if kind == "real":
        # Few digits: before JDK 19, Java wrote some doubles with more digits than they need.
        return float(
            f"{random.choice((1, -1)) * random.random()}"[:9] + f"e{random.randrange(-20, 20)}"
        )
    if kind == "moment":
        return random.randrange(FIRST_US, LAST_US)
    if kind == "day":
        return random.randrange(FIRST_US // DAY_US, LAST_US // DAY_US)
    return "".join(random.choice(LETTERS + more_letters) for _ in range(random.randrange(9)))


LETTERS = "aabXé É日😀 .%-1'\t/"
DAY_US = 86_400_000_000
FIRST_US, LAST_US = -62_135_596_800_000_000, 253_402_300_800_000_000  # the years 1 to 9999


def random_call(random: Random, entry: ScalarEntry) -> str:
    """A call with as many arguments as the function takes, of types that go together."""
    most = entry.least + 2 if entry.most is None else entry.most
    count = _COUNTS.get(entry.name) or random.randint(entry.least, most)
    rules = [entry.rule(at) for at in range(count)]
    alike = [set(kinds_of(rule)) for rule in rules if rule.united or rule.compared]
    together = random.choice([kind for kind in KINDS if all(kind in kinds for kinds in alike)])
    special = SPECIAL.get(entry.name, {})
    arguments = [
        random.choice(special[at])
        if at in special and (rule.written_out or entry.name in ONLY or random.random() < 0.8)
        else argument(random, rule, together)
        for at, rule in enumerate(rules)
    ]
    if entry.operator is not None:
        return entry.operator.format(*arguments)
    return f"{entry.name}({', '.join(arguments)})"


def argument(random: Random, rule: ArgumentRule, together: str) -> str:
    is_alike = rule.united or rule.compared
    kind = together if is_alike else random.choice(kinds_of(rule))
    if is_alike and kind in ("whole", "real"):
        kind = random.choice(("whole", "real"))
    if rule.written_out or random.random() < 0.15:
        return random.choice(CONSTANTS[kind])
    return "NULL" if random.random() < 0.04 else f"{kind}_{random.choice((1, 2))}"


def kinds_of(rule: ArgumentRule) -> list[str]:
    """Kinds of columns that a rule takes: where it takes BIGINT and no DOUBLE, it counts something."""
    kinds = [kind for kind in KINDS if kind != "little" and TYPES[kind] in rule.takes]
    counts = T.BIGINT in rule.takes and not NUMBER.takes <= rule.takes
    return [("little" if counts and kind == "whole" else kind) for kind in kinds]


def by_engine(program: Program, rows: list[Row]) -> list[list[Value]]:
    """What the engine delivers for each row, in the order of the rows (the first column is their number)."""
    columns = program.catalog.relations["s"].columns
    names = [column.name for column in columns]
    typed = with_moments([column.type for column in columns], rows)
    engine = cqc.Engine(program)
    engine.push("s", [dict(zip(names, row, strict=True)) for row in typed])
    found = [[plain(value) for value in result.row.values()] for result in engine.drain()]
    return sorted(found, key=lambda values: values[0])  # type: ignore[arg-type, return-value]  # a number


def plain(value: object) -> Value:
    """A value as the judges have it: instants are microseconds."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - EPOCH.date()).days
    return value  # type: ignore[return-value]  # what is left is a number, a text or NULL


def far_time(text: str) -> Value:
    """Days or microseconds of a time beyond Python's calendar, which is delivered as text."""
    found = re.fullmatch(r"([+-]?\d+)-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d{6}))?Z)?", text)
    if found is None:
        return text
    days = from_ymd(int(found[1]), int(found[2]), int(found[3]))
    if found[4] is None or days is None:
        return days
    clock = (int(found[4]) * 60 + int(found[5])) * 60 + int(found[6])
    return days * DAY_US + clock * 1_000_000 + int(found[7] or 0)


def same(left: Value, right: Value) -> bool:
    """Equal in type and value; functions that no processor rounds the same may differ in the last digit."""
    if isinstance(left, str) and isinstance(right, int):
        left = far_time(left)
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-14) or (math.isnan(left) and math.isnan(right))
    return type(left) is type(right) and left == right


def as_time(type_: T, value: Value) -> object:
    if value is None or type_ not in (T.TIMESTAMP, T.DATE):
        return value
    assert isinstance(value, int)
    if type_ is T.DATE:
        return EPOCH.date() + timedelta(days=value)
    return EPOCH + timedelta(microseconds=value)


def with_moments(types: Sequence[T], rows: Sequence[Row]) -> list[list[object]]:
    """The rows with their instants as datetimes, as one hands them to an engine."""
    return [
        [as_time(type_, value) for type_, value in zip(types, row, strict=True)] for row in rows
    ]
