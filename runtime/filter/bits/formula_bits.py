"""Formulas over atoms, turned into what the kernels run.

An atom becomes a `Leaf`: pairs of row ids whose XOR holds the tuples for which it is TRUE, and, if it is sparse, the id that
must be hit for that. A formula that is an AND of a few single pairs stays a list of pairs (the usual query); any other
becomes code for a small stack machine, one row a stack element:

    (a OR b) AND c        PUSH a   OR b   AND c
    (a AND b) OR (c AND d)    PUSH a   AND b   PUSH c   AND d   OR_TOP

    a AND (b OR c)        PUSH a   STOP   PUSH b   OR c   AND_TOP

The code keeps the shape of the formula: nothing is expanded. Where all must hold, what costs least is asked first, and no more of the
code runs where nothing is left of the tuples. Its *guards* are a cheapest set of sparse atoms one of which is
TRUE wherever the formula is; without a hit of a guard the code need not run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.normal import AllOf, AnyOf, Atom, Formula
from cqc.runtime.filter.bits.bit_sweep import (
    AND,
    AND_TOP,
    EVERY_TUPLE,
    MOST_PAIRS,
    NO_TUPLE,
    OR,
    OR_TOP,
    PUSH,
    STOP,
    XOR,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_ACCESS_PAIRS = 4
_SHORT_CODE = 4  # instructions: a stop costs about as much as one
Pair = tuple[int, int]
Instruction = tuple[int, int, int]


class Leaf(
    NamedTuple
):  # made for each atom of each query: a frozen dataclass takes four times as long
    """The rows of an atom, and the sparse atom without which it is not TRUE."""

    pairs: tuple[Pair, ...]
    guard: int | None = None
    is_point: bool = False  # one pair that holds a single value
    of_cuts: bool = False  # every pair is of two cuts of one column, so that the access index can compare with them


@record
class Conjunction:
    """Pairs that must all hold; with `access` the first of them holds a single value."""

    pairs: tuple[Pair, ...]
    access: bool


@record
class Code:
    """A formula for the stack machine; without guards (None) it runs on every block.

    Every pair of `firm` must hold where the formula does.
    """

    instructions: tuple[Instruction, ...]
    depth: int
    guards: tuple[int, ...] | None
    firm: tuple[Pair, ...] = ()


@record
class _Node:
    """A formula whose atoms are leaves."""

    operation: int  # AND or OR
    parts: tuple[_Node | Leaf, ...]


TRUE = Leaf(((EVERY_TUPLE, NO_TUPLE),))
FALSE = Leaf(((NO_TUPLE, NO_TUPLE),))


def compile_formula(
    formula: Formula,
    leaf_of: Callable[[Atom], Leaf],
    uses_of: Callable[[int], int] = lambda atom: 1,
) -> Conjunction | Code:
    """The pairs of a short conjunction without sparse atoms, or the code of anything else.

    Args:
        formula: what a query asks of a tuple.
        leaf_of: the rows of its atoms.
        uses_of: how many formulas use a sparse atom. One that many have in common (the kind of event, say) is hit in every
            block, so that it guards nothing.
    """
    tree = _tree(formula, leaf_of)
    pairs = _conjunction(tree)
    if pairs is not None:
        return pairs
    guards = _guards(tree, uses_of)
    instructions: list[Instruction] = []
    depth = _emit_whole(tree, instructions)
    guarded = None if guards is None else tuple(guards)
    return Code(tuple(instructions), depth, guarded, _firm(tree)[:MOST_PAIRS])


def _tree(formula: Formula, leaf_of: Callable[[Atom], Leaf]) -> _Node | Leaf:
    if not isinstance(formula, AllOf | AnyOf):
        return leaf_of(formula)
    if not formula.parts:
        return TRUE if isinstance(formula, AllOf) else FALSE
    operation = AND if isinstance(formula, AllOf) else OR
    parts = tuple(_tree(part, leaf_of) for part in formula.parts)
    return parts[0] if len(parts) == 1 else _Node(operation, parts)


def _conjunction(tree: _Node | Leaf) -> Conjunction | None:
    """A formula as pairs, the first of them a single value if there is one; None if it is of another shape."""
    if isinstance(tree, Leaf):
        parts: tuple[_Node | Leaf, ...] = (tree,)
    elif tree.operation == AND and len(tree.parts) <= MOST_PAIRS:
        parts = tree.parts
    else:
        return None
    pairs, comparable, point = [], len(parts) <= MOST_ACCESS_PAIRS, -1
    for at, leaf in enumerate(parts):
        if not isinstance(leaf, Leaf) or leaf.guard is not None or len(leaf.pairs) != 1:
            return None
        pairs.append(leaf.pairs[0])
        comparable = comparable and leaf.of_cuts
        if leaf.is_point and point < 0:
            point = at
    if point > 0:
        pairs.insert(0, pairs.pop(point))
    return Conjunction(tuple(pairs), comparable and point >= 0)


def _guards(tree: _Node | Leaf, uses_of: Callable[[int], int]) -> frozenset[int] | None:
    if isinstance(tree, Leaf):
        return None if tree.guard is None else frozenset((tree.guard,))
    parts = [_guards(part, uses_of) for part in tree.parts]
    known = [part for part in parts if part is not None]
    if tree.operation == AND:
        if len(known) < 2:
            return known[0] if known else None
        return min(known, key=lambda part: sum(map(uses_of, part)))
    return frozenset().union(*known) if len(known) == len(parts) else None


def _firm(tree: _Node | Leaf) -> tuple[Pair, ...]:
    """The single pairs that a formula joins by AND with the rest of it."""
    if isinstance(tree, Leaf):
        parts: tuple[_Node | Leaf, ...] = (tree,)
    else:
        parts = tree.parts if tree.operation == AND else ()
    leaves = (part for part in parts if isinstance(part, Leaf) and len(part.pairs) == 1)
    return tuple(leaf.pairs[0] for leaf in leaves)


def _emit_whole(tree: _Node | Leaf, code: list[Instruction]) -> int:
    """Append the code of a whole query; returns how much stack it needs. Short code does without stops."""
    if isinstance(tree, Leaf) or tree.operation != AND:
        return _emit(tree, code)
    steps: list[tuple[bool, list[Instruction]]] = []
    depth = 1
    for part in tree.parts:
        own: list[Instruction] = []
        depth = max(depth, 1 + _emit(part, own))
        steps.append((_is_single(part), own))
    if sum(len(own) for is_single, own in steps if not is_single) <= _SHORT_CODE:
        return _emit(tree, code)
    steps.sort(key=lambda step: (not step[0], len(step[1])))
    for place, (is_single, own) in enumerate(steps):
        if not place:
            code += own
        elif is_single:
            code.append((AND, *own[0][1:]))
        else:
            code += [(STOP, NO_TUPLE, NO_TUPLE), *own, (AND_TOP, NO_TUPLE, NO_TUPLE)]
    return depth


def _is_single(part: _Node | Leaf) -> bool:
    return isinstance(part, Leaf) and len(part.pairs) == 1


def _emit(tree: _Node | Leaf, code: list[Instruction]) -> int:
    """Append the code that pushes a formula's row; returns how much stack it needs."""
    if isinstance(tree, Leaf):
        code.append((PUSH, *tree.pairs[0]))
        code += [(XOR, *pair) for pair in tree.pairs[1:]]
        return 1
    # Parts with code of their own come first: single pairs then need no stack at all.
    parts = sorted(tree.parts, key=_is_single)
    depth = _emit(parts[0], code)
    for part in parts[1:]:
        if isinstance(part, Leaf) and _is_single(part):
            code.append((tree.operation, *part.pairs[0]))
        else:
            depth = max(depth, 1 + _emit(part, code))
            code.append((AND_TOP if tree.operation == AND else OR_TOP, 0, 0))
    return depth
