"""Text to tokens, and tokens to statements.

One pass of one regular expression over a file gives its statements as parallel lists: what each token is (`kinds`), what
it says (`texts`) and where it is (`starts`, `ends`). A kind is the token as the grammar needs to see it: a keyword in
upper case, and one fixed sample for everything whose text does not matter for the structure, so that

    select Price from Trades where price > 12.50      and
    SELECT x     FROM x      WHERE x     > 1

have the same kinds. Statements with the same kinds have the same syntax tree but for names, literals and places, which
is what makes a file of 100,000 similar queries quick to read (`parse.py`).

Mistakes that are not a matter of grammar, such as an unclosed quote, are dealt with in `syntax_mistakes/quotes.py`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, compress
from operator import sub
from typing import TYPE_CHECKING

from cqc.compiler.meaning.times.durations import CALENDAR_UNITS, UNITS
from cqc.compiler.meaning.types import TYPE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.compiler.diagnostics.source import SourceFile


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


# The samples that stand for a whole class of tokens. Each is a token of its class itself, so that kinds can be parsed.
NAME = "x"
NUMBER = "1"
STRING = "''"
UNIT = "SEC"
TYPE = "BIGINT"
COMPARISON = "<"
PARAMETER = ":x"
ANY_COLUMN = "ANY COLUMN"

RESERVED = words(
    "AND AS BEGIN BETWEEN CASE CAST CREATE CROSS DISTINCT ELSE END EVERY FALSE FROM GROUP HAVING ILIKE IN INNER IS JOIN "
    "LIKE LIMIT MAXWINDOW NOT NULL ON OR ORDER RLIKE SELECT SET THEN TRUE WHEN WHERE WINDOW WITH"
)
"""Words that are never names unless quoted."""

CONTEXTUAL = words(
    "AFTER ALERT ALERTS ALL ARRAY ASC BEFORE BOTH BY CLEAR CURRENT DATA DATE DECIMAL DESC DESCRIBE DIV DROP ENV ESCAPE EXTRACT FILE FILTER FIRING "
    "FIRST FOLLOWING FOR FULL GROUPING IGNORE INTERVAL INTO KEEP LAST LEADING LEFT MAP NO NOW NULLS NUMERIC ONCE ORDINALITY OUTER OVER PARTITION PER "
    "PRECEDING QUALIFY QUERIES QUERY RANGE REPLACE RESPECT RIGHT ROW ROWS SETS SEVERITY SHOW SINK SINKS STREAM STREAMS STRUCT TABLE TIMESTAMP "
    "TRAILING TRIM TRY_CAST UNBOUNDED UNION UNNEST VIEW VIEWS WATERMARK"
)
"""Words that are keywords in some places and names in all others."""

FOREIGN = words(
    "ALTER ANTI ASOF DEFAULT DELETE EXCEPT EXISTS INSERT INTERSECT LATERAL MINUS NATURAL OFFSET "
    "PRIMARY SEMI TOP UPDATE USING WITHIN"
)
"""Words of other SQL dialects that deserve their own message where they stand in the place of a keyword."""

_PLAIN_NAME = r"[^\W\d]\w*"
_SPACE = r"[\s\ufeff]+"
_TOKEN = re.compile(
    rf"""
      {_SPACE}
    | (?i:any)\s+(?i:column)\b
    | {_PLAIN_NAME}
    | (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[bB][dD](?!\w))?
    | '[^']*(?:''[^']*)*'
    | "[^"]*(?:""[^"]*)*"
    | `[^`]*(?:``[^`]*)*`
    | --[^\n]*
    | /\*.*?\*/
    | (?<![\w"`]):{_PLAIN_NAME}
    | <=>|=>|<=|>=|<>|!=|==|::|->|&&|\|\||/\*
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
# The same for texts of ASCII alone: plain sets of characters are looked up a fifth faster than classes of Unicode.
_ASCII_TOKEN = re.compile(
    _TOKEN.pattern.replace(_SPACE, r"[\t-\r\x1c-\x20]+").replace(
        _PLAIN_NAME, "[A-Za-z_][A-Za-z0-9_]*"
    ),
    _TOKEN.flags,
)


def _tokens_in(text: str) -> re.Pattern[str]:
    """What matches the tokens of a text.

    To `re` an accent that is a character of its own is no part of a word, but it belongs to the name it stands in:
    `lower()` of a capital I with a dot has one. As there are two thousand such marks, only those of the text are added.
    """
    if text.isascii():
        return _ASCII_TOKEN
    return _tokens_with("".join(sorted(filter(_is_mark, set(text)))))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc")


@lru_cache(maxsize=16)
def _tokens_with(marks: str) -> re.Pattern[str]:
    if not marks:
        return _TOKEN
    return re.compile(_TOKEN.pattern.replace(_PLAIN_NAME, rf"[^\W\d][\w{marks}]*"), _TOKEN.flags)


_NOTHING = ""  # the kind of white space and comments
_SYMBOLS = {symbol: symbol for symbol in "+-*/%(),.;[]=&|^~:"} | {
    "->": "->",
    "::": "::",
    "=>": "=>",
    "&&": "&&",
    "||": "||",
}
_COMPARISONS = dict.fromkeys(("<", ">", "<=", ">=", "<>", "!=", "==", "<=>"), COMPARISON)


class _Kinds(dict[str, str]):
    """The kind of every token text that was met, worked out once; and which texts are strange.

    `spelling` holds one string for each text, so that trees share the names and numbers that they have in common.
    """

    def __init__(self) -> None:
        super().__init__(_SYMBOLS | _COMPARISONS)
        self.spelling = {text: text for text in self}
        self.strange: set[str] = set()

    def __missing__(self, text: str) -> str:
        kind = self[text] = self._classify(text, text[0])
        self.spelling[text] = text
        return kind

    def _classify(self, text: str, first: str) -> str:
        if first.isspace() or first == "\ufeff" or (text.startswith(("--", "/*")) and text != "/*"):
            return _NOTHING
        if first in "0123456789" or first == ".":
            return NUMBER
        if first == ":" and len(text) > 1:
            return PARAMETER
        if len(text) > 1 and first in "'\"`":
            return STRING if first == "'" else NAME
        if first == "_" or _WORD.match(text):
            # In upper case the dotless i and the long s become I and S, but no keyword is written with them.
            return kind_of_word(text.upper()) if text.isascii() else NAME
        self.strange.add(text)
        return text


_WORD = re.compile(r"[^\W\d]")


def kind_of_word(upper: str) -> str:
    """The kind of a word given in upper case."""
    if upper.startswith("ANY") and upper.split() == ["ANY", "COLUMN"]:
        return ANY_COLUMN
    if upper in RESERVED or upper in CONTEXTUAL or upper in FOREIGN:
        return upper
    if upper in UNITS or upper in CALENDAR_UNITS:
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
        start = (
            self.starts[at] if at < len(self.starts) else self.ends[-1] if self.ends else self.end
        )
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


@dataclass(slots=True)
class TokenFile:
    """The statements of a file, or of a part of it from `start` to `end`; empty statements are left out.

    `strange` is where characters are that begin no token: unclosed quotes and comments, or what is foreign to the language.
    """

    statements: list[Tokens]
    strange: list[int]
    start: int
    end: int


def tokenize(source: SourceFile, start: int = 0, mended: str | None = None) -> TokenFile:
    """Read a file, or the rest of it, into statements.

    `mended` is its text where a mistake was put right without moving anything.
    """
    text = source.text if mended is None else mended
    return _read(source, text, _tokens_in(text), _Kinds(), start, len(text))


def tokenize_in_parts(source: SourceFile) -> Iterator[TokenFile]:
    """Read a file part by part, so that the tokens of 100,000 queries are never in memory at once.

    Parts end between statements. From the first that has something strange, the rest of the file is one part.
    """
    text, kinds = source.text, _Kinds()
    pattern = _tokens_in(text)
    start = 0
    while start < len(text):
        part = _read(source, text, pattern, kinds, start, min(start + _PART, len(text)))
        if part.end == start:
            part = _read(source, text, pattern, kinds, start, len(text))
        start = part.end
        yield part


_PART = 1 << 18


def _read(
    source: SourceFile, text: str, pattern: re.Pattern[str], kind_of: _Kinds, start: int, end: int
) -> TokenFile:
    """The statements that are surely whole between two places: the last one only at the end of the text."""
    # Whole lists at a time: a loop over three million tokens of 100,000 queries takes three times as long.
    raw = pattern.findall(text, start, end)
    raw_kinds = list(map(kind_of.__getitem__, raw))
    raw_ends = accumulate(map(len, raw), initial=start)
    ends = list(compress(raw_ends, [_NOTHING, *raw_kinds]))
    texts = list(map(kind_of.spelling.__getitem__, compress(raw, raw_kinds)))
    kinds = list(filter(None, raw_kinds))
    starts = list(map(sub, ends, map(len, texts)))
    strange = _places(kind_of.strange, texts, starts) if kind_of.strange else []
    result = TokenFile([], strange if end == len(text) else [], start, start)
    # A text or comment that is cut in two looks strange, and what follows its beginning means nothing.
    sure = strange[0] if strange and end < len(text) else end
    first = 0
    for last in (at for at, kind in enumerate(kinds) if kind == ";"):
        if starts[last] >= sure:
            break
        if last > first:
            cut = slice(first, last)
            result.statements.append(
                Tokens(source, kinds[cut], texts[cut], starts[cut], ends[cut], starts[last])
            )
        first, result.end = last + 1, ends[last]
    if end == len(text):
        result.end = end
        if first < len(kinds):
            result.statements.append(
                Tokens(source, kinds[first:], texts[first:], starts[first:], ends[first:], end)
            )
    return result


def _places(words: set[str], texts: list[str], starts: list[int]) -> list[int]:
    return [at for at, word in zip(starts, texts, strict=True) if word in words]


def comments_in(text: str) -> list[tuple[int, int]]:
    """The places of a text's comments as (start, end)."""
    found = (match.span() for match in _tokens_in(text).finditer(text))
    return [
        (start, end)
        for start, end in found
        if text.startswith(("--", "/*"), start, end) and end - start > 1
    ]
