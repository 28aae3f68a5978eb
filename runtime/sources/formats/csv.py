"""CSV files with a header row, streamed block by block.

Arrow splits a block into text columns where the block is clean; a block with anything unusual in it (a wrong number of
fields, quotes in odd places, text that is not UTF-8) is cut into smaller ones, and those that still are unusual are read
record by record. Either way the same texts come out and the same conversions follow, so a row is taken or rejected by its
content alone.
"""

from __future__ import annotations

import io
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from cqc.compiler.diagnostics.suggest import listed
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, text_column
from cqc.runtime.columns.convert.arrow_columns import column_of_arrow
from cqc.runtime.columns.convert.reading import USUAL
from cqc.runtime.columns.date_text import parse_date
from cqc.runtime.columns.number_text import parse_bigint, parse_boolean, parse_double
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import Intake, Reject
from cqc.runtime.sources.formats.csv_form import CsvForm
from cqc.runtime.sources.formats.csv_records import (
    csv_blocks,
    ends_outside_quotes,
    regular_record_ends,
    scan_records,
    unquote,
)
from cqc.runtime.sources.formats.long_lines import LONGEST_LINE, LongLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from cqc.compiler.meaning.catalog import Column as Declared
    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.columns.convert.reading import Reading
    from cqc.runtime.intake.typed_batch import Conversion, TypedBatch
    from cqc.runtime.sources.formats.csv_records import Dialect

_BOM = b"\xef\xbb\xbf"
_BLANK_LINE = re.compile(rb"(?:^|[\r\n])[ \t\x0b\x0c]+(?=[\r\n]|$)")
_PIECES = 16
_OTHER_DELIMITERS = {  # by the sign: what they are, and how WITH names one
    ";": ("semicolons", ";"),
    "\t": ("tabs", "tab"),
    "|": ("bars", "|"),
}
_PARSERS = {
    ColumnType.BIGINT: parse_bigint,
    ColumnType.DOUBLE: parse_double,
    ColumnType.BOOLEAN: parse_boolean,
    ColumnType.DATE: parse_date,
}


def read_csv(
    relation: Relation,
    file: BinaryIO,
    name: str,
    *,
    keep_rejects: bool = True,
    has_header: bool | None = None,
) -> Iterator[TypedBatch]:
    """The rows of one file.

    Args:
        relation: what they are rows of.
        file: where they are.
        name: of the file, for people.
        keep_rejects: whether rows that do not fit are kept with the reason.
        has_header: whether the first line names the columns; by default the relation's WITH says so.

    Raises:
        RunError: when the header lacks a declared column, or does not end.
    """
    form = CsvForm.of(relation.options)
    reader: CsvReader | None = None
    if not (form.has_header if has_header is None else has_header):
        # Nobody named the columns: they come in the order of declaration.
        header = [column.keys[0] for column in relation.declared]
        reader = CsvReader(relation, header, name, keep_rejects=keep_rejects)
    for number, block in enumerate(csv_blocks(file, dialect=form.dialect)):
        if isinstance(block, LongLine):
            if reader is None:
                raise header_too_long(name)
            yield reader.reject(block)
            continue
        rows = block.removeprefix(_BOM) if number == 0 else block
        if reader is None:
            found, rows = _take_header(rows, form.dialect)
            if found is None:
                continue
            reader = CsvReader(relation, found, name, keep_rejects=keep_rejects)
        if rows:
            yield reader.read(rows)


def header_too_long(name: str) -> RunError:
    """The sentence for a file whose first line does not end."""
    return RunError(
        f"cannot read {name} as CSV: its first line has no end within {LONGEST_LINE:,} bytes"
    )


def _take_header(block: bytes, dialect: Dialect) -> tuple[list[str] | None, bytes]:
    """The names in the first record that is not blank, and what follows it; None for a file without any."""
    for record in scan_records(block, dialect):
        if _is_blank(record.fields):
            continue
        fields = record.fields or (block[record.start : record.end],)
        names = [unquote(field, dialect).decode(errors="replace").strip() for field in fields]
        return names, block[record.end :]
    return None, b""


def _is_blank(fields: tuple[bytes, ...] | None) -> bool:
    return fields is not None and len(fields) == 1 and not fields[0].strip()


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of the declared columns for some rows, and rows that never came so far."""

    columns: list[pa.StringArray]
    read: int
    rejects: list[Reject]


class CsvReader:
    """Reads blocks of records that follow one header."""

    def __init__(
        self, relation: Relation, header: Sequence[str], name: str, *, keep_rejects: bool = True
    ) -> None:
        self._relation = relation
        self._keep_rejects = keep_rejects
        self._intake = Intake(relation)
        self._form = CsvForm.of(relation.options)
        self._dialect = self._form.dialect
        self._header = header
        places: dict[str, list[int]] = {}
        for at, title in enumerate(header):
            places.setdefault(fold(title), []).append(at)
        self._fields = [self._field_of(column, places, name) for column in relation.declared]
        # Arrow wants distinct names; positions are.
        self._names = [str(at) for at in range(len(header))]
        wanted = list(dict.fromkeys(str(at) for at in self._fields))
        self._convert = pa_csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.string()),
            include_columns=wanted,
            null_values=["", *self._form.nulls],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )

    def read(self, block: bytes) -> TypedBatch:
        """The rows of a block of whole records."""
        parts = list(self._texts(block, divide=True))
        columns = [
            pa.concat_arrays([part.columns[at] for part in parts])
            for at in range(len(self._relation.declared))
        ]
        conversions = [
            convert_texts(declared.type, texts, self._intake.reading)
            for declared, texts in zip(self._relation.declared, columns, strict=True)
        ]
        rejects = [reject for part in parts for reject in part.rejects]
        shown = [self._header[at] for at in self._fields]

        def row_of(row: int) -> dict[str, Any]:
            return dict(zip(shown, (texts[row].as_py() for texts in columns), strict=True))

        kept = row_of if self._keep_rejects else None
        return self._intake.assemble(conversions, sum(part.read for part in parts), kept, rejects)

    def reject(self, line: LongLine) -> TypedBatch:
        """A line that is too long."""
        return line.rejected(self._intake)

    def _field_of(self, declared: Declared, all_places: dict[str, list[int]], name: str) -> int:
        column = ".".join(declared.keys)
        places = all_places.get(fold(column))
        if not places:
            raise RunError(
                f"{name} has no column {column} for {self._relation.name} "
                f"(its header: {listed(self._header)}){_other_delimiter(self._header)}"
            )
        if len(places) > 1:
            raise RunError(f"{name} has more than one column {column}")
        return places[0]

    def _texts(self, block: bytes, *, divide: bool) -> Iterator[_Texts]:
        usual = self._by_arrow(block)
        if usual is not None:
            yield usual
            return
        pieces = _divide(block, self._dialect) if divide else []
        if len(pieces) < 2:
            yield self._record_by_record(block)
            return
        for piece in pieces:
            yield from self._texts(piece, divide=False)

    def _by_arrow(self, block: bytes) -> _Texts | None:
        if block.startswith(_BOM) or not ends_outside_quotes(block, self._dialect):
            return None
        if len(self._header) == 1 and _BLANK_LINE.search(block):
            return None
        if not block.endswith((b"\n", b"\r")):
            block += (
                b"\n"  # without it Arrow takes an empty last field for quoted when another one is
            )
        try:
            table = pa_csv.read_csv(
                io.BytesIO(block),
                pa_csv.ReadOptions(
                    use_threads=False, block_size=len(block) + 1, column_names=self._names
                ),
                pa_csv.ParseOptions(
                    newlines_in_values=True,
                    delimiter=self._dialect.delimiter,
                    quote_char=self._dialect.quote,
                ),
                self._convert,
            )
        except pa.ArrowInvalid:
            return None
        columns = [_whole(table.column(str(at))) for at in self._fields]
        return _Texts(columns, table.num_rows, [])

    def _record_by_record(self, block: bytes) -> _Texts:
        rows: list[tuple[str | None, ...]] = []
        rejects: list[Reject] = []
        for record in scan_records(block, self._dialect):
            if _is_blank(record.fields):
                continue
            if record.fields is None or len(record.fields) != len(self._header):
                rejects.append(self._wrong_fields(record.fields, block[record.start : record.end]))
                continue
            texts = [self._decoded(record.fields[at]) for at in self._fields]
            broken = next((at for at, text in enumerate(texts) if text is False), None)
            if broken is None:
                rows.append(tuple(texts))  # type: ignore[arg-type]  # none of them is False
            else:
                name = self._relation.declared[broken].name
                rejects.append(Reject(f"{name} is not UTF-8", self._shown(record.fields)))
        columns = [
            pa.array([row[at] for row in rows], type=pa.string()) for at in range(len(self._fields))
        ]
        return _Texts(columns, len(rows) + len(rejects), rejects)

    def _wrong_fields(self, fields: tuple[bytes, ...] | None, line: bytes) -> Reject:
        if fields is None:
            text = line.decode(errors="replace").rstrip("\r\n")
            return Reject("a quote is not closed", {"line": text})
        number = "few" if len(fields) < len(self._header) else "many"
        return Reject(f"too {number} fields", self._shown(fields))

    def _shown(self, fields: tuple[bytes, ...]) -> dict[str, Any]:
        """The fields of a rejected record by name; surplus ones by number."""
        names = [*self._header, *map(str, range(len(self._header) + 1, len(fields) + 1))]
        texts = [
            unquote(field, self._dialect).decode(errors="replace") if field else None
            for field in fields
        ]
        return dict(zip(names, texts, strict=False))

    def _decoded(self, field: bytes) -> str | bool | None:
        """The text of a field: None for NULL, False for what is not UTF-8."""
        if not field:
            return None
        try:
            text = unquote(field, self._dialect).decode()
        except UnicodeDecodeError:
            return False
        is_quoted = field.startswith(self._dialect.around)
        return None if text in self._form.nulls and not is_quoted else text


def convert_texts(type_: ColumnType, texts: pa.StringArray, reading: Reading = USUAL) -> Conversion:
    """Text from a file as a column of a type; an empty text is NULL in every type but STRING."""
    if type_ is ColumnType.STRING:
        return text_column(texts), None
    empty = pc.equal(texts, "")
    if pc.any(empty).as_py():
        texts = pc.if_else(empty, pa.scalar(None, pa.string()), texts)
    if type_.held_as_text:
        return column_of_arrow(type_, texts, reading)
    parse = reading.times.of_text if type_ is ColumnType.TIMESTAMP else _PARSERS[type_]
    values, bad = parse(texts)
    valid = texts.is_valid().to_numpy(zero_copy_only=False) if texts.null_count else None
    return Column(type_, values, valid), bad if bad.any() else None


def _divide(block: bytes, dialect: Dialect) -> list[bytes]:
    """Smaller blocks of whole records; just the block where that cannot be told quickly."""
    ends = regular_record_ends(block, dialect)
    if ends is None or len(ends) < 2 or block.count(dialect.around) % 2:
        return [block]
    chosen = np.unique(ends[np.linspace(0, len(ends) - 1, _PIECES + 1).astype(np.int64)])
    cuts = [0, *(int(end) for end in chosen if end < len(block)), len(block)]
    return [block[start:stop] for start, stop in itertools.pairwise(cuts)]


def _whole(column: pa.ChunkedArray) -> pa.StringArray:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _other_delimiter(header: Sequence[str]) -> str:
    """What to write in WITH when all names of a header came as one."""
    if len(header) != 1:
        return ""
    many = {sign: header[0].count(sign) for sign in _OTHER_DELIMITERS}
    sign = max(many, key=lambda each: many[each])
    if not many[sign]:
        return ""
    signs, written = _OTHER_DELIMITERS[sign]
    return f"; where its fields are divided by {signs}, write `delimiter = '{written}'` in WITH"
