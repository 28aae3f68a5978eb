"""Functions that choose one of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import ONE_TYPE
from cqc.compiler.functions.entry import ScalarEntry, many, shared_type

if TYPE_CHECKING:
    from cqc.compiler.functions.constant_forms import Constant


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
)
