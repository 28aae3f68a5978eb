"""Functions that choose one of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import ANY_COLUMN, COMPARED, CONDITION, ONE_TYPE
from cqc.compiler.functions.entry import ScalarEntry, first_type, many, one, shared_type

if TYPE_CHECKING:
    from cqc.compiler.functions.constant_forms import Constant


_NULL_IF = "CASE WHEN {0} = {1} THEN NULL ELSE {0} END"


def _coalesce(*values: Constant) -> Constant:
    return next((value for value in values if value is not None), None)


CHOICE = (
    ScalarEntry(
        "coalesce",
        (many("value", ONE_TYPE),),
        shared_type,
        "The first value that is not NULL; those after it are not worked out.",
        ("coalesce(NULL, 1, 2)", 1),
        takes_null=True,
        constant=_coalesce,
    ),
    ScalarEntry(
        "nvl",
        (one("value", ONE_TYPE), one("otherwise", ONE_TYPE)),
        shared_type,
        "The value, or the other one where it is NULL.",
        ("nvl(NULL, 2)", 2),
        aliases=("ifnull",),
        duckdb="coalesce({0}, {1})",
        takes_null=True,
        constant=_coalesce,
    ),
    ScalarEntry(
        "nvl2",
        (one("value", ANY_COLUMN), one("known", ONE_TYPE), one("unknown", ONE_TYPE)),
        shared_type,
        "The second argument where the first is not NULL, else the third; the other one is not worked out.",
        ("nvl2(NULL, 'known', 'unknown')", "unknown"),
        duckdb="CASE WHEN {0} IS NOT NULL THEN {1} ELSE {2} END",
        takes_null=True,
        constant=lambda value, known, unknown: unknown if value is None else known,
    ),
    ScalarEntry(
        "nullif",
        (one("value", COMPARED), one("other", COMPARED)),
        first_type,
        "NULL where both are equal, else the value.",
        ("nullif(3, 4)", 3),
        duckdb=_NULL_IF,
        spark=_NULL_IF,
        takes_null=True,
    ),
    ScalarEntry(
        "if",
        (one("condition", CONDITION), one("then", ONE_TYPE), one("otherwise", ONE_TYPE)),
        shared_type,
        "The second argument where the condition is TRUE, else the third; the other one is not worked out.",
        ("if(2 > 1, 'yes', 'no')", "yes"),
        aliases=("iff",),
        duckdb="CASE WHEN {0} THEN {1} ELSE {2} END",
        takes_null=True,
        constant=lambda condition, then, otherwise: then if condition is True else otherwise,
    ),
)
