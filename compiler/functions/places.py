"""Networks and places on the earth."""

from __future__ import annotations

from cqc.compiler.functions.argument_rules import AS_DOUBLE, TEXT, WRITTEN_TEXT
from cqc.compiler.functions.entry import ScalarEntry, many, one
from cqc.compiler.functions.sql_forms import Refused
from cqc.compiler.meaning.types import ColumnType

_NETS = Refused("there are no networks in this dialect")
_EARTH = (
    "2 * 6371.0088 * asin(least(CAST(1 AS DOUBLE), sqrt(pow(sin(radians({2} - {0}) / 2), 2)"
    " + cos(radians({0})) * cos(radians({2})) * pow(sin(radians({3} - {1}) / 2), 2))))"
)

PLACES = (
    ScalarEntry(
        "cidr_match",
        (one("address", TEXT), many("net", WRITTEN_TEXT)),
        ColumnType.BOOLEAN,
        "Whether the address (IPv4 or IPv6) is in one of the nets, which are written out; FALSE for a text that is no address. All nets "
        "of all queries over a column are one index.",
        ("cidr_match('10.1.2.3', '10.0.0.0/8', 'fe80::/10')", True),
        duckdb=_NETS,
        spark=_NETS,
    ),
    ScalarEntry(
        "is_private_ip",
        (one("address", TEXT),),
        ColumnType.BOOLEAN,
        "Whether the address is in 10/8, 172.16/12, 192.168/16, 127/8, 169.254/16, ::1, fc00::/7 or fe80::/10.",
        ("is_private_ip('192.168.0.7')", True),
        duckdb=_NETS,
        spark=_NETS,
    ),
    ScalarEntry(
        "haversine",
        (
            one("lat1", AS_DOUBLE),
            one("lon1", AS_DOUBLE),
            one("lat2", AS_DOUBLE),
            one("lon2", AS_DOUBLE),
        ),
        ColumnType.DOUBLE,
        "Kilometres between two places, given in degrees, on a sphere of 6371.0088 km.",
        ("haversine(52.52, 13.405, 48.8566, 2.3522)", 877.4645379215093),
        duckdb=_EARTH,
        spark=_EARTH,
    ),
)
