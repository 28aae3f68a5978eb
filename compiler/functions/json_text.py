"""Functions of JSON in text."""

from __future__ import annotations

from cqc.compiler.functions.argument_rules import AS_TEXT
from cqc.compiler.functions.entry import ScalarEntry, one
from cqc.compiler.functions.sql_forms import Refused
from cqc.compiler.meaning.types import ColumnType

JSON_TEXTS = (
    ScalarEntry(
        "get_json_object",
        (one("json", AS_TEXT), one("path", AS_TEXT)),
        ColumnType.STRING,
        "What a path such as `$.a.b[0]['c d']` leads to: a text without its quotes, anything else as JSON; NULL where nothing is there, "
        "where the text is not JSON, and for JSON's null. A path with `*` fails.",
        ('get_json_object(\'{"a": [5, {"b": "x"}]}\', \'$.a[1].b\')', "x"),
        duckdb=Refused("DuckDB writes numbers and duplicate keys otherwise"),
    ),
)
