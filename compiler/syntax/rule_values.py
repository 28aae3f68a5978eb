"""What the end of a grammar rule makes of the values of its parts.

Lark has wrappers for this, one around the other: one leaves single values as they are, one puts None where an optional part was
left out, one takes the values of a helper rule (its name begins with `_`) as if they stood in the rule itself. They are
called for every rule of every statement, so here each rule has one function that does all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.diagnostic import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cqc.compiler.syntax.build_statements import StatementPieces
    from cqc.compiler.syntax.grammar_tables import Rule


def single_helpers(rules: Iterable[Rule]) -> frozenset[str]:
    """The helper rules that are always one token (`_first_name`): their value can be the token itself."""
    rules = list(rules)
    others = {
        rule.name
        for rule in rules
        if len(rule.parts) != 1 or not rule.parts[0][1] or any(_left_out(rule))
    }
    names = {rule.name for rule in rules if rule.name.startswith("_")}
    return frozenset(names - others)


def make_value(
    rule: Rule, methods: StatementPieces, single: frozenset[str]
) -> Callable[..., Any] | None:
    """The function that makes the value of a rule of those of its parts; None when the one value it has stays as it is."""
    expands = [_expands(part, single) for part in rule.parts]
    left_out = _left_out(rule)
    is_plain = not any(expands) and not any(left_out)
    passes_on = rule.expand1 and not rule.alias and is_plain and len(rule.parts) == 1
    if passes_on or rule.name in single:
        return None
    finish = _finish(rule, methods)
    if is_plain:
        return finish
    if finish is _listed and expands == [True] + [False] * (len(expands) - 1) and not any(left_out):
        return _grown
    inner = [at for at, count in enumerate(left_out[:-1]) if count]
    if not any(expands) and len(inner) <= 1:
        return _with_nothing(left_out, inner[0] if inner else 0, finish)
    return _flattening(expands, left_out, finish)


def _expands(part: tuple[str, bool], single: frozenset[str]) -> bool:
    name, is_token = part
    return not is_token and name.startswith("_") and name not in single


def _finish(rule: Rule, methods: StatementPieces) -> Callable[..., Any]:
    if rule.name.startswith("_"):
        return _listed  # a helper: its values are those of the rule it is part of
    name = rule.alias or rule.name
    method = getattr(methods, name, None)
    if method is None:
        raise InternalError(f"nothing makes the rule {name} of the grammar")
    made: Callable[..., Any] = method
    return made


def _listed(*values: Any) -> list[Any]:
    return list(values)


def _grown(values: list[Any], *more: Any) -> list[Any]:
    values += more  # a helper's list has one owner, so a chain of thousands grows in place
    return values


def _left_out(rule: Rule) -> list[int]:
    """How many optional parts were left out before each part, and after the last."""
    marks = "".join("1" if empty else "0" for empty in rule.left_out)
    return [len(each) for each in marks.split("0")] if marks else [0] * (len(rule.parts) + 1)


def _with_nothing(left_out: list[int], at: int, finish: Callable[..., Any]) -> Callable[..., Any]:
    nothing, after = (
        (None,) * left_out[at] if at < len(left_out) - 1 else (),
        (None,) * left_out[-1],
    )

    def make(*values: Any) -> Any:
        return finish(*values[:at], *nothing, *values[at:], *after)

    return make


def _flattening(
    expands: list[bool], left_out: list[int], finish: Callable[..., Any]
) -> Callable[..., Any]:
    steps = list(zip(expands, [[None] * count for count in left_out], strict=False))
    after = [None] * left_out[-1]

    def make(*values: Any) -> Any:
        flat: list[Any] = []
        for value, (expand, nothing) in zip(values, steps, strict=True):
            flat += nothing
            if expand:
                flat = flat + value if flat else value
            else:
                flat.append(value)
        flat += after
        return flat if finish is _listed else finish(*flat)

    return make
