"""In which form two columns are compared as keys.

BIGINT = BIGINT: both as they are      BIGINT = DOUBLE: both as doubles
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.state.hash_chains import KeyKind

if TYPE_CHECKING:
    from cqc.runtime.state.shared_state import SharedState

Column = tuple["SharedState", int]  # a state and the number of one of its columns


def key_forms(left: Column, right: Column) -> tuple[int, int]:
    """The key form of either side of an equality; both states keep chains for theirs from now on."""
    types = [state.relation.columns[column].type for state, column in (left, right)]
    forms = []
    for (state, column), own in zip((left, right), types, strict=True):
        is_plain = types[0] is types[1] or own is ColumnType.DOUBLE
        forms.append(state.key_form(column, KeyKind.PLAIN if is_plain else KeyKind.AS_DOUBLE))
    return forms[0], forms[1]
