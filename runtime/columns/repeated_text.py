"""Text that repeats itself: each distinct value once, and for each row which one it has.

Columns of real logs repeat (paths of programs, users, call traces), so what is asked of a text is asked once for each distinct
value, and the answers are handed to the rows by their codes. The texts themselves are put together only where somebody reads
them row by row.

    texts  cmd.exe  net.exe  cmd.exe  NULL         distinct  cmd.exe  net.exe       codes  0 1 0 0 (the last one is not valid)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_FEW_ROWS = 64  # below, finding out which values repeat costs more than it saves
_MOST_DISTINCT = 0.5  # of the rows: with more, hashing every text does not pay
_MANY_MORE = 4  # times the rows: then what was seen before tells nothing
_LOOK_AGAIN = 16  # packets after which a column that did not repeat is looked at again
_LONG_TEXT = 512  # bytes; up to that, hashing is quick
_SAMPLED_ROWS = 512
_NEW_SHARE = (
    0.9  # of the sampled texts: 8 % distinct values among ten thousand rows are 66 % among so few
)


class RepeatedText(Column):
    """A STRING column by codes; `distinct` may hold values that no row has."""

    __slots__ = ("_decoded", "codes", "distinct")

    def __init__(
        self, distinct: Any, codes: NDArray[np.int32], valid: NDArray[np.bool_] | None
    ) -> None:
        self.type = ColumnType.STRING
        self.valid = valid
        self.distinct = distinct
        self.codes = codes
        self._decoded: Any = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def values(self) -> Any:
        """The text of each row, put together when it is first asked for."""
        if self._decoded is None:
            missing = None if self.valid is None else ~self.valid
            self._decoded = self.distinct.take(pa.array(self.codes, mask=missing))
        return self._decoded

    @property
    def nbytes(self) -> int:
        """About how much memory it takes, while nobody has asked for the text of each row."""
        mask = 0 if self.valid is None else self.valid.nbytes
        return int(self.distinct.nbytes + self.codes.nbytes) + mask

    def taken(self, positions: Any) -> RepeatedText:
        """Some rows, by positions, a mask or a slice."""
        valid = None if self.valid is None else self.valid[positions]
        return RepeatedText(self.distinct, self.codes[positions], valid)

    def of_own_texts(self) -> RepeatedText:
        """The same column without the texts that no row has, where there are many."""
        if len(self.distinct) <= len(self.codes):
            return self
        used, codes = np.unique(self.codes, return_inverse=True)
        return RepeatedText(self.distinct.take(pa.array(used)), codes.astype(np.int32), self.valid)

    def followed_by(self, others: Sequence[Column]) -> RepeatedText | None:
        """This column and others behind it, by the distinct texts of all of them; None where some are kept in another way."""
        columns = [self, *(other for other in others if isinstance(other, RepeatedText))]
        if len(columns) <= len(others):
            return None
        if all(column.distinct is _NOTHING for column in columns):
            return no_texts(sum(map(len, columns)))
        valid = None
        if any(column.valid is not None for column in columns):
            valid = np.concatenate([column.is_valid() for column in columns])
        distinct, codes = self.distinct, [column.codes for column in columns]
        if any(column.distinct is not distinct for column in columns):
            # The rest of a chunk has the texts of all of it; taken along from chunk to chunk they would become ever more.
            columns = [column.of_own_texts() for column in columns]
            codes = [column.codes for column in columns]
            coded = pa.concat_arrays([column.distinct for column in columns]).dictionary_encode()
            distinct, numbers = coded.dictionary, coded.indices.to_numpy()
            starts = np.cumsum([0, *(len(column.distinct) for column in columns[:-1])])
            codes = [numbers[start + code] for start, code in zip(starts, codes, strict=True)]
        return RepeatedText(distinct, np.concatenate(codes), valid)


# One empty text, of columns that are NULL throughout. Made of a list it would load pandas, where that is installed.
_NOTHING = pa.StringArray.from_buffers(1, pa.py_buffer(np.zeros(2, np.int32)), pa.py_buffer(b""))


def no_texts(rows: int) -> RepeatedText:
    """A column of text that is NULL in every row. Joining such columns, with each other or with others by codes, costs next to nothing."""
    return RepeatedText(_NOTHING, np.zeros(rows, np.int32), np.zeros(rows, np.bool_))


def repeated_text(array: Any) -> RepeatedText | None:
    """An Arrow array of dictionary type as a column; None where its dictionary is larger than the array, or has a NULL."""
    distinct = array.dictionary
    if len(distinct) > len(array) or distinct.null_count or not len(distinct):
        return None
    if distinct.type != pa.string():
        distinct = distinct.cast(pa.string())
    indices = array.indices
    if not indices.null_count:
        # A copy, because Arrow's own memory is read-only: kernels would be compiled once more for that.
        codes = np.array(indices.to_numpy(zero_copy_only=False), np.int32)
        return RepeatedText(distinct, codes, None)
    valid = indices.is_valid().to_numpy(zero_copy_only=False)
    if indices.type == pa.int32():  # whatever is in the places of NULL becomes 0
        held = np.frombuffer(indices.buffers()[1], np.int32)
        codes = held[indices.offset : indices.offset + len(indices)] * valid
    else:
        codes = indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int32)
    return RepeatedText(distinct, codes, valid)


class Repetition:
    """Whether the texts of one column are worth encoding, as the packets before tell.

    What few rows told does not count for a packet of many: a sample of texts has most of them once.
    """

    def __init__(self) -> None:
        self._repeats = True
        self._judged_by = 0  # rows that told so
        self._left_alone = 0

    def encode(self, column: Column) -> Column:
        """The column by codes where it repeats, else as it is."""
        rows = len(column)
        if isinstance(column, RepeatedText) or not self.is_worth_a_try(rows):
            return column
        if is_long_and_new(column):
            self._repeats, self._judged_by, self._left_alone = False, rows, 0
            return column
        found = repeated_text(column.values.dictionary_encode())
        present = rows if column.valid is None else int(np.count_nonzero(column.valid))
        repeats = found is not None and len(found.distinct) <= _MOST_DISTINCT * present
        self.learn(rows, repeats=repeats)
        return found if repeats and found is not None else column

    def is_worth_a_try(self, rows: int) -> bool:
        """Whether so many rows should be looked at for texts that repeat."""
        if rows < _FEW_ROWS:
            return False
        if self._is_known(rows) and not self._repeats and self._left_alone < _LOOK_AGAIN:
            self._left_alone += 1
            return False
        return True

    def learn(self, rows: int, *, repeats: bool) -> None:
        """Note what rows that were looked at told."""
        self._left_alone = 0
        if repeats or not self._is_known(rows) or _MANY_MORE * rows > self._judged_by:
            self._repeats, self._judged_by = repeats, rows

    def _is_known(self, rows: int) -> bool:
        return rows < _MANY_MORE * self._judged_by


def is_long_and_new(column: Column) -> bool:
    """Whether the texts are long, and hardly any of the first ones is there twice: hashing all of them would cost more than searching."""
    values = column.values
    if len(values) <= _SAMPLED_ROWS or values.nbytes < _LONG_TEXT * len(values):
        return False
    some = values.slice(0, _SAMPLED_ROWS)
    present = int(len(some) - some.null_count)
    distinct = len(some.dictionary_encode().dictionary)
    return present > _FEW_ROWS and distinct > _NEW_SHARE * present


class CodedHits:
    """What the distinct values of a column hit: `ids[starts[code] : starts[code + 1]]`."""

    __slots__ = ("ids", "starts")

    def __init__(self, values: NDArray[np.int32], ids: NDArray[np.int32], distinct: int) -> None:
        self.starts = np.zeros(distinct + 1, np.int64)
        self.ids = np.empty(len(ids), np.int32)
        sort_by_code(values, ids, self.starts, self.ids)

    @property
    def nbytes(self) -> int:
        """Memory, about."""
        return self.starts.nbytes + self.ids.nbytes


@njit(cache=True, nogil=True)
def sort_by_code(values, ids, starts, out):  # type: ignore[no-untyped-def]
    """Ids ordered by the value that hits them; `starts` (zeros) becomes where each value's ids begin."""
    for at in range(len(values)):
        starts[values[at] + 1] += 1
    for value in range(1, len(starts)):
        starts[value] += starts[value - 1]
    for at in range(len(values)):
        out[starts[values[at]]] = ids[at]
        starts[values[at]] += 1
    for value in range(len(starts) - 1, 0, -1):  # each start was moved to its end
        starts[value] = starts[value - 1]
    starts[0] = 0


def warm() -> None:
    """Compile this module's kernels."""
    one = np.zeros(1, np.int32)
    CodedHits(one, one, 2)
