"""A program as canonical text, for `cqc fmt`.

Only white space, the case of keywords and the spelling of `!=` change: the tokens of a program are written again in their
order, so comments stay where they are, names stay as written, and the formatted program means the same. An output without
AS that is named by its source text keeps that text. Every clause of a query begins a line; `format_lines.py` breaks those
that are too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.diagnostic import CompileError
from cqc.compiler.format.comments import Commented, CommentReader, Remark
from cqc.compiler.format.lines import Lines, split_at_connectives
from cqc.compiler.format.words import Word, words_of
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax import tree as syntax
from cqc.compiler.syntax.tokens import tokenize

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.source import SourceFile

_CLAUSES = frozenset(
    {
        "FROM", "WHERE", "WINDOW", "MAXWINDOW", "BEGIN", "EVERY", "GROUP", "HAVING", "QUALIFY", "ORDER", "LIMIT",
        "WITH", "UNION", "PER", "FOR", "CLEAR", "KEEP", "ONCE", "NO",
    }
)  # fmt: skip
_CONDITIONS = frozenset({"WHERE", "WINDOW", "HAVING", "QUALIFY", "CLEAR"})
_WORDS = {"GROUP": 2, "ORDER": 2, "UNION": 2, "CLEAR": 2, "KEEP": 2, "ONCE": 2, "NO": 3}
_JOINS = frozenset({"JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "OUTER"})
_COLUMN = 7  # where the content of clauses begins
_DEEPEST_LIST = 40  # a list is not aligned with its bracket further to the right than this


def format_program(source: SourceFile) -> str:
    """The canonical text of a program.

    Raises:
        CompileError: The program has syntax errors.

    Example:
        format_program(SourceFile("a.cq", "select * from B where x>1")) gives three lines.
    """
    program, diagnostics = parse(source)
    if diagnostics:
        raise CompileError(diagnostics)
    commented, remarks = CommentReader(source.text).read(tokenize(source).statements)
    lines: list[str] = []
    for each, statement in zip(commented, program.statements, strict=True):
        lines += _with_remarks(each, _format_statement(each, statement), bool(lines))
    lines += _remarks(remarks, bool(lines))
    return "".join(line + "\n" for line in lines)


def _with_remarks(commented: Commented, text: list[str], has_more_before: bool) -> list[str]:
    """A statement's lines after the remarks that precede it, with blank lines kept to one."""
    lines = _remarks(commented.before, has_more_before)
    if commented.follows_blank and (lines or has_more_before):
        lines.append("")
    return lines + text


def _remarks(remarks: list[Remark], has_more_before: bool) -> list[str]:
    lines: list[str] = []
    for remark in remarks:
        if remark.follows_blank and (lines or has_more_before):
            lines.append("")
        lines.append(remark.text)
    return lines


def _format_statement(commented: Commented, statement: syntax.Statement) -> list[str]:
    words = words_of(commented, statement)
    after, words[-1].after = words[-1].after + commented.after, []
    lines = Lines()
    match statement:
        case syntax.CreateQuery() | syntax.CreateView():
            _format_query(lines, words)
        case syntax.CreateRelation() | syntax.CreateSink():
            _format_relation(lines, words)
        case syntax.SetOption() | syntax.Drop() | syntax.Show() | syntax.Describe():
            lines.write(words)
    lines.finish()
    lines.done[-1] += ";"
    for comment in after:
        lines.done[-1] += ("  " if comment.startswith("--") else " ") + comment
    return lines.done


def _format_query(lines: Lines, words: list[Word]) -> None:
    """CREATE QUERY on a line of its own, then every clause."""
    for clause in _split_clauses(words):
        keyword = _keyword_length(clause)
        if clause[0].kind == "CREATE":
            lines.start("", 4)
            lines.write(clause)
            continue
        is_join = clause[0].kind in _JOINS
        text = " ".join(word.text for word in clause[:keyword])
        indent = _COLUMN if is_join else max(_COLUMN, len(text) + 1)
        _start_with_comments(lines, clause[0], " " * (_COLUMN if is_join else 0), indent)
        for word in clause[:keyword]:
            lines.put(word)
        if len(clause) > keyword:
            _pad(lines, indent)
            _format_content(lines, clause[0], clause[keyword:])


def _split_clauses(words: list[Word]) -> list[list[Word]]:
    clauses: list[list[Word]] = []
    for at, word in enumerate(words):
        if at == 0 or _starts_clause(words, at):
            clauses.append([])
        clauses[-1].append(word)
    return clauses


def _starts_clause(words: list[Word], at: int) -> bool:
    word, previous = words[at], words[at - 1]
    if word.is_name or word.depth:
        return False
    if word.kind == "WITH" and at + 1 < len(words) and words[at + 1].kind == "(":
        # Texts of a query stand beside its name, those of an alert at its end.
        return any(each.kind == "SELECT" and not each.is_name for each in words[:at])
    if word.kind == "EVERY" and previous.kind == "ONCE" and not previous.is_name:
        return False
    if word.kind == "FROM":
        return previous.kind != "DISTINCT"  # IS DISTINCT FROM
    if word.kind in _JOINS:
        return previous.is_name or previous.kind not in _JOINS
    return word.kind in _CLAUSES or word.kind == "SELECT"


def _keyword_length(clause: list[Word]) -> int:
    """How many words the keyword of a clause has: none for a join, which is written as it comes."""
    if clause[0].kind in _JOINS:
        return 0
    return _WORDS.get(clause[0].kind, 1)


def _start_with_comments(lines: Lines, word: Word, margin: str, indent: int) -> None:
    """Begin the line of a word; comments before it come first, on lines with the same margin."""
    for comment in word.before:
        lines.start(margin + comment, indent)
    word.before = []
    lines.start(margin, indent)


def _pad(lines: Lines, column: int) -> None:
    """Go to a column, unless a comment after the keyword ended its line."""
    if not lines.is_empty:
        lines.current = lines.current.ljust(column)


def _format_content(lines: Lines, keyword: Word, words: list[Word]) -> None:
    operands = split_at_connectives(words) if keyword.kind in _CONDITIONS else [words]
    if len(operands) < 2 or lines.fits(words):
        lines.write(words)
        return
    lines.write(operands[0])
    for operand in operands[1:]:
        connective, rest = operand[0], operand[1:]
        margin = " " * (_COLUMN - 1 - len(connective.text))
        _start_with_comments(lines, connective, margin, _COLUMN)
        lines.put(connective)
        _pad(lines, _COLUMN)
        lines.write(rest)


def _format_relation(lines: Lines, words: list[Word]) -> None:
    """CREATE STREAM or TABLE: on one line when it fits, else WITH on its own and long lists aligned with their bracket."""
    lines.start("", 4)
    if lines.fits(words):
        lines.write(words)
        return
    for part in _split_relation(words):
        lines.start("" if part[0].kind == "CREATE" else "  ", 4)
        opening = next((at for at, word in enumerate(part) if word.kind == "("), len(part) - 1)
        for word in part[: opening + 1]:
            lines.put(word)
        column = len(lines.current)
        lines.indent = column if column <= _DEEPEST_LIST and not lines.is_empty else 4
        lines.write(part[opening + 1 :], base_depth=1)


def _split_relation(words: list[Word]) -> list[list[Word]]:
    for at, word in enumerate(words):
        if word.kind == "WITH" and not word.is_name and word.depth == 0:
            return [words[:at], words[at:]]
    return [words]
