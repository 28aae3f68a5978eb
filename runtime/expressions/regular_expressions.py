"""Regular expressions in functions: what is extracted and replaced, by RE2.

Arrow runs RE2 over a whole column, which is what is done where it gives exactly the answer: where a pattern and the rest are
constants, and no match can be empty (Java and RE2 differ in which empty matches count). All else is asked of RE2 once for each
distinct text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import re2

from cqc.runtime.expressions.row_by_row import FAILED, constant_text, is_constant, row_kernel

if TYPE_CHECKING:
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.kernel import PartialOutcome


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """The RE2 program of a pattern; None where it is not valid."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


def extracted(text: str, pattern: str, group: int = 1) -> Any:
    """What a group of the first match holds."""
    program = compiled(pattern)
    if program is None:
        return FAILED
    found = program.search(text)
    if found is None:
        return ""
    return (found.group(group) or "") if 0 <= group <= program.groups else FAILED


def replaced(text: str, pattern: str, replacement: str, start: int = 1) -> Any:
    """The text with every match from a position on replaced."""
    program = compiled(pattern)
    if program is None or start < 1:
        return FAILED
    if start > len(text) and start > 1:
        return text
    parts, at = [text[: start - 1]], start - 1
    made: list[Any] | None = None
    for found in program.finditer(text, start - 1):
        made = read_replacement(replacement, program) if made is None else made
        if made is None:
            return FAILED
        parts.append(text[at : found.start()])
        parts += [part if isinstance(part, str) else found.group(part) or "" for part in made]
        at = found.end()
    return "".join([*parts, text[at:]])


def read_replacement(text: str, program: Any) -> list[Any] | None:
    """A replacement in Java's words as texts and numbers of groups; None where it is wrong."""
    parts: list[Any] = []
    at = 0
    while at < len(text):
        if text[at] == "\\":
            if at + 1 == len(text):
                return None
            parts.append(text[at + 1])
            at += 2
        elif text[at] == "$":
            group, at = _group_reference(text, at + 1, program)
            if group is None:
                return None
            parts.append(group)
        else:
            parts.append(text[at])
            at += 1
    return parts


def _group_reference(text: str, at: int, program: Any) -> tuple[int | None, int]:
    """The group after a `$`, and where the text goes on. As many digits count as make a group that there is."""
    if text.startswith("{", at):
        end = text.find("}", at)
        return program.groupindex.get(text[at + 1 : end]) if end > 0 else None, end + 1
    if at == len(text) or text[at] not in "0123456789":
        return None, at
    group, at = int(text[at]), at + 1
    while at < len(text) and text[at] in "0123456789":
        longer = group * 10 + int(text[at])
        if longer > program.groups:
            break
        group, at = longer, at + 1
    return (group if group <= program.groups else None), at


_extract_slowly = row_kernel(extracted)
_replace_slowly = row_kernel(replaced)


def regexp_extract(text: Column, pattern: Column, group: Column | None = None) -> PartialOutcome:
    """The kernel of `regexp_extract`."""
    given = [each for each in (text, pattern, group) if each is not None]
    if is_constant(text) or not (is_constant(pattern) and is_constant(group)):
        return _extract_slowly(*given)
    wanted = 1 if group is None else int(group.values)
    named = _with_one_group(constant_text(pattern), wanted)
    program = compiled(constant_text(pattern))
    if named is None or program is None or not 0 <= wanted <= program.groups:
        return _extract_slowly(*given)
    found = pc.struct_field(pc.extract_regex(text.values, named), "g")
    return pc.fill_null(found, ""), None, None


def regexp_replace(
    text: Column, pattern: Column, replacement: Column, start: Column | None = None
) -> PartialOutcome:
    """The kernel of `regexp_replace`."""
    given = [each for each in (text, pattern, replacement, start) if each is not None]
    constants = is_constant(pattern) and is_constant(replacement)
    from_start = start is None or (is_constant(start) and int(start.values) == 1)
    if is_constant(text) or not constants or not from_start:
        return _replace_slowly(*given)
    source = constant_text(pattern)
    program = compiled(source)
    parts = None if program is None else read_replacement(constant_text(replacement), program)
    if (
        parts is None
        or not never_empty(source)
        or any(p for p in parts if type(p) is int and p > 9)
    ):
        return _replace_slowly(*given)
    written = "".join(f"\\{p}" if type(p) is int else p.replace("\\", "\\\\") for p in parts)
    return pc.replace_substring_regex(text.values, source, written), None, None


_SURELY_LONG = re.compile(
    r"(?:[^\\*?{}|^$()\[\]]|\\[dDwWsS.\-/+\\]|\[[^\[\]\\*?{}|]+\]|\((?!\?|\)))(?:[^\\*?{}|^$()\[\]]|\\[dDwWsS.\-/+\\]|\[[^\[\]\\*?{}|]+\]|\((?![?)])|\))*"
)


@lru_cache(maxsize=1024)
def never_empty(pattern: str) -> bool:
    """Whether no match can be empty, as far as that is plain to see: no repetition that may be none, no alternative."""
    return _SURELY_LONG.fullmatch(pattern) is not None and pattern[0] not in "+)"


_GROUP = re.compile(
    r"\\Q|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?P?<\w+>|\?[a-zA-Z-]*:?|)", re.DOTALL
)


@lru_cache(maxsize=1024)
def _with_one_group(pattern: str, wanted: int) -> str | None:
    """The pattern with one group, called g; None where that is not plain."""
    if r"\Q" in pattern or "[:" in pattern:
        return None
    number = 0

    def renamed(found: re.Match[str]) -> str:
        nonlocal number
        text = found[0]
        if not text.startswith("(") or (text.startswith("(?") and "<" not in text):
            return text
        number += 1
        return "(?P<g>" if number == wanted else "(?:"

    made = _GROUP.sub(renamed, pattern)
    made = f"(?P<g>{pattern_without(made)})" if wanted == 0 else made
    program = compiled(made)
    return made if program is not None and program.groups == 1 else None


def pattern_without(pattern: str) -> str:
    """A pattern as a part of another."""
    return pattern if not pattern.startswith("(?") else f"(?:{pattern})"
