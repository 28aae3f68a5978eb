"""Text to tokens, and tokens to statements.

One pass of one regular expression over a file gives its statements as parallel lists: what each token is (`kinds`), what
it says (`texts`) and where it is (`starts`, `ends`). A kind is the token as the grammar needs to see it: a keyword in
upper case, and one fixed sample for everything whose text does not matter for the structure, so that

    select Price from Trades where price > 12.50      and
    SELECT x     FROM x      WHERE x     > 1

have the same kinds. Statements with the same kinds have the same syntax tree but for names, literals and places, which
is what makes a file of 100,000 similar queries quick to read (`parse.py`).

Mistakes that are not a matter of grammar, such as an unclosed quote, are found in `token_mistakes.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cqc.compiler.durations import UNITS
from cqc.compiler.types import TYPE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.source import SourceFile

# The samples that stand for a whole class of tokens. Each is a token of its class itself, so that kinds can be parsed.
NAME = "x"
NUMBER = "1"
STRING = "''"
UNIT = "SEC"
TYPE = "BIGINT"
COMPARISON = "<"

RESERVED = frozenset(
    "AND AS BEGIN BETWEEN CASE CAST CREATE CROSS DISTINCT ELSE END EVERY FALSE FROM GROUP HAVING ILIKE IN INNER IS JOIN "
    "LIKE LIMIT MAXWINDOW NOT NULL ON OR ORDER RLIKE SELECT SET THEN TRUE WHEN WHERE WINDOW WITH".split()
)
"""Words that are never names unless quoted."""

CONTEXTUAL = frozenset(
    "AFTER ASC BEFORE BY DESC ESCAPE FIRST FOR INTERVAL LAST NOW NULLS QUERY RANGE ROWS STREAM TABLE TIMESTAMP "
    "WATERMARK".split()
)
"""Words that are keywords in some places and names in all others."""

FOREIGN = frozenset(
    "ALTER ANTI ASOF DELETE DROP EXCEPT EXISTS FULL INSERT INTERSECT LATERAL LEFT MINUS NATURAL OFFSET OUTER OVER RIGHT "
    "SEMI UNION UPDATE USING VIEW".split()
)
"""Words of other SQL dialects that deserve their own message where they stand in the place of a keyword."""

_TOKEN = re.compile(
    r"""(?:
      ([^\W\d]\w*)
    | ((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (<=|>=|<>|!=|==|&&|\|\||[+*%(),.\[\]=<>]|-(?!-)|/(?!\*))
    | (;)
    | ('[^']*(?:''[^']*)*')
    | ("[^"]*(?:""[^"]*)*"|`[^`]*(?:``[^`]*)*`)
    | (--[^\n]*|/\*.*?\*/)
    | (.)
    )\s*""",
    re.VERBOSE | re.DOTALL,
)
_WORD, _NUMBER, _SYMBOL, _SEMICOLON, _STRING, _QUOTED, _COMMENT, _STRANGE = range(1, 9)
_FIXED_KINDS = {_NUMBER: NUMBER, _STRING: STRING, _QUOTED: NAME}
_SYMBOL_KINDS = {symbol: COMPARISON for symbol in ("<", ">", "<=", ">=", "<>", "!=")}


class _WordKinds(dict[str, str]):
    """The kind of every spelling of a word that was met, worked out once."""

    def __missing__(self, word: str) -> str:
        kind = self[word] = kind_of_word(word.upper())
        return kind


def kind_of_word(upper: str) -> str:
    """The kind of a word given in upper case."""
    if upper in RESERVED or upper in CONTEXTUAL or upper in FOREIGN:
        return upper
    if upper in UNITS:
        return UNIT
    return TYPE if upper in TYPE_NAMES else NAME


@dataclass(slots=True)
class Tokens:
    """The tokens of one statement. `end` is where the statement ends: at its `;`, or at the end of the file."""

    source: SourceFile
    kinds: list[str]
    texts: list[str]
    starts: list[int]
    ends: list[int]
    end: int

    def replaced(self, at: int, count: int, kinds: Sequence[str], texts: Sequence[str]) -> Tokens:
        """With `count` tokens from `at` on replaced by others, which get the place of what they replace."""
        start = self.starts[at] if at < len(self.starts) else self.ends[-1] if self.ends else self.end
        if count == 0 and at > 0:
            start = self.ends[at - 1]
        end = self.ends[at + count - 1] if count else start
        return Tokens(
            self.source,
            self.kinds[:at] + list(kinds) + self.kinds[at + count :],
            self.texts[:at] + list(texts) + self.texts[at + count :],
            self.starts[:at] + [start] * len(kinds) + self.starts[at + count :],
            self.ends[:at] + [end] * len(kinds) + self.ends[at + count :],
            self.end,
        )

    def part(self, first: int, last: int) -> Tokens:
        """The tokens from `first` up to but not including `last`."""
        end = self.end if last >= len(self.ends) else self.ends[last - 1] if last else self.end
        cut = slice(first, last)
        return Tokens(
            self.source, self.kinds[cut], self.texts[cut], self.starts[cut], self.ends[cut], end
        )


@dataclass(frozen=True, slots=True)
class Strange:
    """A character that begins no token: an unclosed quote or comment, or something foreign."""

    text: str
    start: int


@dataclass(slots=True)
class TokenFile:
    """The statements of a file (empty ones left out), its comments as (start, end), and what is strange in it."""

    statements: list[Tokens]
    comments: list[tuple[int, int]]
    strange: list[Strange]


def tokenize(source: SourceFile) -> TokenFile:
    """Read a whole file into statements."""
    result = TokenFile([], [], [])
    word_kinds = _WordKinds()
    kinds: list[str] = []
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    text = source.text
    # This loop runs once a token, three million times for 100,000 queries: it stays in one piece.
    for match in _TOKEN.finditer(text, len(text) - len(text.lstrip())):
        group = match.lastindex
        start, end = match.span(group)
        if group == _WORD:
            token = match[_WORD]
            kinds.append(word_kinds[token])
        elif group == _SYMBOL:
            token = match[_SYMBOL]
            kinds.append(_SYMBOL_KINDS.get(token, token))
        elif group == _SEMICOLON:
            if kinds:
                result.statements.append(Tokens(source, kinds, texts, starts, ends, start))
                kinds, texts, starts, ends = [], [], [], []
            continue
        elif group == _COMMENT:
            result.comments.append((start, end))
            continue
        elif group == _STRANGE:
            token = match[_STRANGE]
            result.strange.append(Strange(token, start))
            kinds.append(token)
        else:
            token = match[group]
            kinds.append(_FIXED_KINDS[group])
        texts.append(token)
        starts.append(start)
        ends.append(end)
    if kinds:
        result.statements.append(Tokens(source, kinds, texts, starts, ends, len(text)))
    return result
