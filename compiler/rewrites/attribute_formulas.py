"""Conditions of one FROM item as a formula over atoms of single columns.

AND and OR keep their structure; what is merged are conditions on the same column side by side, so that a rule with
thousands of literals under OR is one atom with thousands of intervals. What no single column can answer becomes an
`ExpressionAtom`.

    x > 3 AND x < 9 AND (s LIKE 'a%' OR y IN (1, 2) OR y = 3)
    AllOf(x in 4..8, AnyOf(y in 1..3, s LIKE 'a%'))
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    LAMBDA,
    And,
    Cast,
    ColumnRef,
    Comparison,
    ComparisonOp,
    Expression,
    FunctionCall,
    InList,
    IsDistinct,
    IsNull,
    IsTruth,
    Literal,
    Match,
    Not,
    Or,
    PatternKind,
)
from cqc.compiler.meaning.linear import solve
from cqc.compiler.meaning.networks import PRIVATE
from cqc.compiler.meaning.normal import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    ElementAtom,
    ExpressionAtom,
    FoldedAtom,
    Formula,
    NetAtom,
    PatternAtom,
    ValueAtom,
)
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.value_sets import (
    EVERYTHING,
    NOTHING,
    Intervals,
    compared,
    complement,
    intersect,
    unite,
)
from cqc.compiler.rewrites.element_conditions import element_condition, is_indexed
from cqc.compiler.rewrites.mentioned_items import item_mask, renumber
from cqc.compiler.rewrites.push_negations import Question, ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_EXACT_WHOLE = 2.0**53  # below this every whole number is a DOUBLE


def formula_of(condition: Expression) -> Formula:
    """The formula of a condition that mentions one item (or none)."""
    kind = type(condition)
    if kind is And:
        return conjoin([formula_of(operand) for operand in condition.operands])  # type: ignore[union-attr]
    if kind is Or:
        return disjoin([formula_of(operand) for operand in condition.operands])  # type: ignore[union-attr]
    if isinstance(condition, Literal):
        return ALWAYS if condition.value is True else NEVER
    return _atom(condition)


def conjoin(parts: Iterable[Formula]) -> Formula:
    """TRUE where all parts are, with the conditions on one column in one atom."""
    values: dict[int, list[ValueAtom]] = {}
    others: dict[Formula, None] = {}
    for part in _one_folded(_flat(parts, AllOf), negated=True):
        if type(part) is ValueAtom:
            values.setdefault(part.column, []).append(part)
        elif type(part) is AnyOf and not part.parts:
            return NEVER
        else:
            others[part] = None
    merged: list[Formula] = []
    for column in sorted(values):
        atom = _all(values[column])
        if _is_empty(atom):
            return NEVER
        merged.append(atom)
    merged.extend(_in_order(list(others)))
    return merged[0] if len(merged) == 1 else AllOf(tuple(merged)) if merged else ALWAYS


def disjoin(parts: Iterable[Formula]) -> Formula:
    """TRUE where some part is, with the conditions on one column in one atom."""
    values: dict[int, list[ValueAtom]] = {}
    others: dict[Formula, None] = {}
    for part in _one_folded(_flat(parts, AnyOf), negated=False):
        if type(part) is ValueAtom:
            values.setdefault(part.column, []).append(part)
        elif type(part) is AllOf and not part.parts:
            return ALWAYS
        else:
            others[part] = None
    merged: list[Formula] = []
    for column in sorted(values):
        atom = _any(values[column])
        if atom.matches_null and atom.intervals == EVERYTHING:
            return ALWAYS
        if not _is_empty(atom):
            merged.append(atom)
    merged.extend(_in_order(list(others)))
    return merged[0] if len(merged) == 1 else AnyOf(tuple(merged)) if merged else NEVER


def _flat(parts: Iterable[Formula], kind: type[AllOf] | type[AnyOf]) -> list[Formula]:
    flat: list[Formula] = []
    for part in parts:
        if type(part) is kind:
            flat.extend(part.parts)
        else:
            flat.append(part)
    return flat


def _in_order(others: list[Formula]) -> list[Formula]:
    """One order for the same conditions, however they were written, so that equal formulas are equal."""
    return others if len(others) < 2 else sorted(others, key=_text)


def _text(formula: Formula) -> str:
    """`repr` of a formula; that of a pattern, of which rules have thousands, is written out, which takes a fifth of the time."""
    kind = type(formula)
    if kind is PatternAtom:
        return (
            f"PatternAtom(column={formula.column}, kind={_PATTERN_KINDS[formula.kind]}, "  # type: ignore[union-attr]
            f"pattern={formula.pattern!r}, escape={formula.escape!r}, "  # type: ignore[union-attr]
            f"negated={formula.negated}, matches_null={formula.matches_null})"  # type: ignore[union-attr]
        )
    if kind is AllOf or kind is AnyOf:
        parts = ", ".join(map(_text, formula.parts))  # type: ignore[union-attr]
        comma = "," if len(formula.parts) == 1 else ""  # type: ignore[union-attr]
        return f"{kind.__name__}(parts=({parts}{comma}))"
    return repr(formula)


_PATTERN_KINDS = {kind: repr(kind) for kind in PatternKind}


def _is_empty(atom: ValueAtom) -> bool:
    return not atom.intervals and not atom.matches_null


def _all(atoms: list[ValueAtom]) -> ValueAtom:
    first = atoms[0]
    if len(atoms) == 1:
        return first
    if len(atoms) == 2:
        intervals = intersect(first.type, first.intervals, atoms[1].intervals)
    else:  # outside none: one sort, where one walk for each atom would be quadratic
        outside = unite(first.type, (complement(first.type, atom.intervals) for atom in atoms))
        intervals = complement(first.type, outside)
    return ValueAtom(first.column, first.type, intervals, all(a.matches_null for a in atoms))


def _any(atoms: list[ValueAtom]) -> ValueAtom:
    first = atoms[0]
    if len(atoms) == 1:
        return first
    intervals = unite(first.type, (atom.intervals for atom in atoms))
    return ValueAtom(first.column, first.type, intervals, any(a.matches_null for a in atoms))


def _atom(condition: Expression) -> Formula:
    # A column compared with a constant, or matched with a pattern, is most of what real rules hold.
    if type(condition) is Match and type(condition.operand) is ColumnRef and condition.pattern:
        return _pattern(condition.operand, condition, negated=False)
    is_column = type(condition) is Comparison and type(condition.left) is ColumnRef
    folded = None if is_column else _folded(condition)
    if folded is not None:
        return _some_text(folded)
    found = value_set(condition)
    if found is not None:
        column, intervals, matches_null = found
        if not intervals and not matches_null:
            return NEVER
        if matches_null and intervals == EVERYTHING:
            return ALWAYS
        return ValueAtom(column.column, column.type, intervals, matches_null)
    nets = _nets(condition)
    if nets is not None:
        return nets
    elements = _elements(condition)
    if elements is not None:
        return elements
    match condition:
        case Match(operand=ColumnRef() as column, pattern=str()):
            return _pattern(column, condition, negated=False)
        case Not(operand=Match(operand=ColumnRef() as column, pattern=str()) as inner):
            return _pattern(column, inner, negated=True)
        case Not(
            operand=IsTruth(operand=Match(operand=ColumnRef() as column) as inner, value=value)
        ) if isinstance(inner.pattern, str):
            return _pattern(column, inner, negated=value, matches_null=True)
        case Not(operand=IsTruth(operand=inner, value=value)):  # not TRUE, or not FALSE
            whole = inner if value else Not(inner, condition.span)
            return ExpressionAtom(_of_one_item(whole), negated=True)
        case _:
            return ExpressionAtom(_of_one_item(condition))


def _elements(condition: Expression) -> Formula | None:
    """A question about some element of an array, as an atom; where it is an OR, as one of several."""
    match condition:
        case FunctionCall(
            name="exists" | "any",
            arguments=(array, FunctionCall(name=name, arguments=(first, Or() as body)) as inner),
        ) if name == LAMBDA:
            parts = [replace(inner, arguments=(first, each)) for each in body.operands]
            return disjoin([_atom(replace(condition, arguments=(array, each))) for each in parts])
        case Not(operand=IsTruth(operand=FunctionCall() as asked, value=True)):
            found = _elements(asked)
            return replace(found, negated=True) if isinstance(found, ElementAtom) else None
        case _:
            pass
    about = element_condition(condition)
    if about is None:
        return None
    column, of_element = about
    element = formula_of(of_element)
    if not is_indexed(element):
        return None
    assert isinstance(element, ValueAtom | PatternAtom | FoldedAtom | NetAtom)
    return ElementAtom(column.column, element, _of_one_item(condition))


def _nets(condition: Expression) -> NetAtom | None:
    """Whether an address is in nets, as an atom."""
    match condition:
        case FunctionCall(name="is_private_ip", arguments=(ColumnRef() as column,)):
            return NetAtom(column.column, PRIVATE, False, False)
        case FunctionCall(name="cidr_match", arguments=(ColumnRef() as column, *others)):
            nets = [each.value for each in others if isinstance(each, Literal)]
            texts = sorted({net for net in nets if isinstance(net, str)})
            if len(nets) < len(others) or None in nets:
                return None
            return NetAtom(column.column, tuple(texts), False, False)
        case Not(operand=FunctionCall() as inner):
            atom = _nets(inner)
            return None if atom is None else replace(atom, negated=True)
        case Not(operand=IsTruth(operand=FunctionCall() as inner, value=value)):
            atom = _nets(inner)
            return None if atom is None else replace(atom, negated=value, matches_null=True)
        case _:
            return None


def _folded(condition: Expression) -> FoldedAtom | None:
    """`lower(c) = 'x'`, `lower(c) IN (...)` and what denies them, by texts in lower case."""
    match condition:
        case Comparison(left=Literal(), right=right, op=ComparisonOp.EQ | ComparisonOp.NE as op):
            return _folded_texts(right, (condition.left,), negated=op is ComparisonOp.NE)
        case Comparison(left=left, right=Literal(), op=ComparisonOp.EQ | ComparisonOp.NE as op):
            return _folded_texts(left, (condition.right,), negated=op is ComparisonOp.NE)
        case InList(operand=operand, values=values):
            return _folded_texts(operand, values, negated=False)
        case Not(operand=IsTruth(operand=inner, value=value)):
            found = _folded(inner)
            if found is None:
                return None
            if value:  # not TRUE: FALSE or NULL
                return replace(
                    found, negated=not found.negated, matches_null=not found.matches_null
                )
            return replace(found, matches_null=True)
        case Not(operand=Comparison() | InList() as inner):
            found = _folded(inner)
            return None if found is None else replace(found, negated=not found.negated)
        case _:
            return None


def _folded_texts(
    side: Expression, values: Sequence[Expression], *, negated: bool
) -> FoldedAtom | None:
    match side:
        case FunctionCall(name="lower", arguments=(ColumnRef(type=ColumnType.STRING) as column,)):
            constants = [value.value for value in values if isinstance(value, Literal)]
            texts = [text for text in constants if isinstance(text, str)]
            if len(texts) < len(values):
                return None
            # A text with capital letters is never what `lower` gives.
            reachable = {text for text in texts if text.lower() == text}
            return FoldedAtom(column.column, tuple(sorted(reachable)), negated, False)
        case _:
            return None


def _some_text(atom: FoldedAtom) -> Formula:
    """The atom, or what it comes to where no text is left."""
    if atom.texts:
        return atom
    if atom.negated and atom.matches_null:
        return ALWAYS
    if not atom.negated and not atom.matches_null:
        return NEVER
    intervals = EVERYTHING if atom.negated else NOTHING
    return ValueAtom(atom.column, ColumnType.STRING, intervals, atom.matches_null)


def _one_folded(parts: list[Formula], *, negated: bool) -> list[Formula]:
    """Lists of texts on one column as one list: `lower(c) IN` joined by OR, `NOT IN` by AND."""
    if FoldedAtom not in map(type, parts):
        return parts
    lists: dict[int, set[str]] = {}
    others: list[Formula] = []
    for part in parts:
        if type(part) is FoldedAtom and part.negated == negated and not part.matches_null:
            lists.setdefault(part.column, set()).update(part.texts)
        else:
            others.append(part)
    for column, texts in lists.items():
        others.append(FoldedAtom(column, tuple(sorted(texts)), negated, False))
    return others


def _of_one_item(condition: Expression) -> Expression:
    return renumber(condition, (0,) * item_mask(condition).bit_length())


def _pattern(
    column: ColumnRef, match_: Match, *, negated: bool, matches_null: bool = False
) -> Formula:
    pattern = match_.pattern or ""
    is_text = "%" not in pattern and "_" not in pattern and match_.escape not in pattern
    if match_.kind is PatternKind.LIKE and is_text:
        op = ComparisonOp.NE if negated else ComparisonOp.EQ
        values = compared(column.type, op, pattern)
        return ValueAtom(column.column, column.type, values, matches_null)
    if match_.kind is PatternKind.ILIKE and is_text:
        return FoldedAtom(column.column, (pattern.lower(),), negated, matches_null)
    return PatternAtom(column.column, match_.kind, pattern, match_.escape, negated, matches_null)


ColumnValues = tuple[ColumnRef, Intervals, bool]


def value_set(condition: Expression) -> ColumnValues | None:
    """The column, its values, and whether NULL, for which a condition is TRUE; None when one column cannot say."""
    match condition:
        case Comparison(left=left, op=op, right=Literal() as constant):
            return _compared(left, op, constant)
        case Comparison(left=Literal() as constant, op=op, right=right):
            return _compared(right, op.flipped, constant)
        case ColumnRef(type=ColumnType.BOOLEAN):
            return condition, compared(ColumnType.BOOLEAN, ComparisonOp.EQ, True), False
        case IsNull(operand=ColumnRef() as column):
            return column, NOTHING, True
        case InList():
            return _in_list(condition)
        case IsDistinct(left=left, right=Literal() as constant):
            return _distinct(left, constant)
        case IsDistinct(left=Literal() as constant, right=right):
            return _distinct(right, constant)
        case Not(operand=operand):
            return _denied(operand)
        case _:
            return None


def _denied(operand: Expression) -> ColumnValues | None:
    """The values for which a condition is FALSE (or, for IS TRUE and its like, anything but TRUE)."""
    match operand:
        case ColumnRef(type=ColumnType.BOOLEAN):
            return operand, compared(ColumnType.BOOLEAN, ComparisonOp.EQ, False), False
        case Comparison():
            return value_set(
                Comparison(operand.left, operand.op.negated, operand.right, operand.span)
            )
        case InList():
            return _not_in_list(operand)
        case IsNull() | IsDistinct():
            return _outside(value_set(operand))
        case IsTruth(operand=inner, value=value):
            return _outside(value_set(ask(inner, Question.TRUE if value else Question.FALSE)))
        case _:
            return None


def _outside(found: ColumnValues | None) -> ColumnValues | None:
    if found is None:
        return None
    column, intervals, matches_null = found
    return column, complement(column.type, intervals), not matches_null


def _compared(side: Expression, op: ComparisonOp, constant: Literal) -> ColumnValues | None:
    value = constant.value
    if isinstance(side, Cast) and constant.type is ColumnType.DOUBLE:
        side = _without_widening(side)
    if type(side) is ColumnRef and value is not None:
        if side.type is constant.type:
            return side, compared(side.type, op, value), False
        if side.type is ColumnType.DOUBLE:
            return side, compared(side.type, op, float(value)), False
        if isinstance(value, float) and abs(value) < _EXACT_WHOLE:
            return side, _whole_against_double(op, value), False
    solved = solve(side, op, constant)
    return None if solved is None else (*solved, False)


def _without_widening(side: Cast) -> Expression:
    """A BIGINT column that is read as DOUBLE for a comparison, as the column itself."""
    column = side.operand
    widened = side.type is ColumnType.DOUBLE and column.type is ColumnType.BIGINT
    return column if widened and isinstance(column, ColumnRef) else side


def _whole_against_double(op: ComparisonOp, value: float) -> Intervals:
    """BIGINT values against a DOUBLE: `x < 2.5` is `x <= 2`."""
    below = math.floor(value)
    if below == value:
        return compared(ColumnType.BIGINT, op, below)
    if op in (ComparisonOp.LT, ComparisonOp.LE):
        return compared(ColumnType.BIGINT, ComparisonOp.LE, below)
    if op in (ComparisonOp.GT, ComparisonOp.GE):
        return compared(ColumnType.BIGINT, ComparisonOp.GT, below)
    return NOTHING if op is ComparisonOp.EQ else EVERYTHING


def _in_list(condition: InList) -> ColumnValues | None:
    """`e IN (a, b)` is `e = a OR e = b`; a NULL among the values is never equal."""
    constants = _constants(condition)
    if constants is None:
        return None
    found = [
        _compared(condition.operand, ComparisonOp.EQ, constant)
        for constant in constants
        if constant.value is not None
    ]
    sets = [each for each in found if each is not None]
    if len(sets) < len(found) or not sets:
        return None
    column = sets[0][0]
    return column, unite(column.type, (intervals for _, intervals, _ in sets)), False


def _not_in_list(condition: InList) -> ColumnValues | None:
    """`e NOT IN (a, b)` is `e <> a AND e <> b`; with a NULL among the values it is never TRUE."""
    constants = _constants(condition)
    inside = _in_list(condition)
    if constants is None or inside is None:
        return None
    column, intervals, _ = inside
    if any(constant.value is None for constant in constants):
        return column, NOTHING, False
    # Where the expression itself is NULL (an overflow), neither side holds: only some values are "not equal".
    unequal = _compared(condition.operand, ComparisonOp.NE, constants[0])
    if unequal is None:
        return None
    outside = complement(column.type, intervals)
    return column, intersect(column.type, outside, unequal[1]), False


def _constants(condition: InList) -> list[Literal] | None:
    """The values of an IN list when all are constants, as DOUBLE as soon as anything in it is."""
    constants = [value for value in condition.values if isinstance(value, Literal)]
    if len(constants) < len(condition.values):
        return None
    types = {condition.operand.type, *(constant.type for constant in constants)}
    if ColumnType.DOUBLE in types and ColumnType.BIGINT in types:
        return [_as_double(constant) for constant in constants]
    return constants


def _as_double(constant: Literal) -> Literal:
    if constant.value is None or constant.type is ColumnType.DOUBLE:
        return constant
    return Literal(float(constant.value), ColumnType.DOUBLE, constant.span)


def _distinct(side: Expression, constant: Literal) -> ColumnValues | None:
    if constant.value is None:
        return (side, EVERYTHING, False) if type(side) is ColumnRef else None
    return _outside(_compared(side, ComparisonOp.EQ, constant))
