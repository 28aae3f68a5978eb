"""How the CSV of a relation is written: what WITH says of delimiter, quote, header and NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.source_formats import letter_of
from cqc.runtime.sources.formats.csv_records import Dialect

if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class CsvForm:
    """The form of one relation's CSV.

    Attributes:
        dialect: delimiter and quote.
        has_header: whether the first line names the columns; without it they come in the order of declaration.
        nulls: texts that mean NULL when they are not quoted, beside the empty one.
    """

    dialect: Dialect
    has_header: bool = True
    nulls: tuple[str, ...] = ()

    @staticmethod
    def of(options: Mapping[str, str]) -> CsvForm:
        """The form that a WITH clause says."""
        delimiter = letter_of(options.get("delimiter", ",")) or ","
        quote = letter_of(options.get("quote", '"')) or '"'
        has_header = options.get("header", "true").lower() != "false"
        words = options.get("nulls", "").split(",") if options.get("nulls") else ()
        return CsvForm(Dialect(delimiter, quote), has_header, tuple(filter(None, words)))
