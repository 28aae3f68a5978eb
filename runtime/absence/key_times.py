"""The smallest event time of each key: all that EXISTS over an unlimited past has to remember.

Entries are found by rule and key (`guard_entries`). An entry that has a time is kept for ever; one that a row has only asked about is
dropped with the row. Texts are numbered (`state/text_numbers`), so an entry has a number for each key whatever its type.

    keys (user, host); tuples (ann, h1) at 5 and 3, (bob, h1) at 4      (ann, h1): 3   (bob, h1): 4
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.absence.guard_entries import FAR_US, GuardEntries, lift
from cqc.runtime.columns.columns import text_column
from cqc.runtime.columns.saved_columns import loaded, loaded_array, saved
from cqc.runtime.expressions.compile.compile_expression import compile_expression
from cqc.runtime.state.hash_chains import KeyKind
from cqc.runtime.state.hash_chains import keys_of as plain_keys
from cqc.runtime.state.key_table import locate
from cqc.runtime.state.text_numbers import TextNumbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.absence import KeyPair
    from cqc.runtime.columns.columns import Column

    Fetch = Callable[[int, int], Column]

_NOBODY = -1  # the rule of a key with NULL, which nothing equals


class KeyEntries(GuardEntries):
    """The entries of a guard with keys. Tables have little spare room, because their keys are kept for ever."""

    def add(self, keys: NDArray[np.int64], times_us: NDArray[np.int64]) -> NDArray[np.int64]:
        """The entries of keys [row, rule and keys], made where there are none; the latest time of their rows counts."""
        self._reserve(len(keys))
        found, self._used = locate(keys, self._keys, self._table, self._used, True)
        lift(self.times, found, times_us)
        return np.asarray(found)

    def forget(self, before_us: int) -> NDArray[np.int64] | None:
        """Give up entries without a time that nobody waits for, when half are such; where the others are now (-1: gone)."""
        if self._used < self._look_again:
            return None
        self._look_again = self._used + self._used // 4
        kept = (self.times[: self._used] >= before_us) | (self.best[: self._used] < FAR_US)
        left = int(kept.sum())
        if 2 * left > self._used or not self._used:
            return None
        return self._keep(kept, left, max(2 * left, 256))

    def drop_rule(self, rule: int) -> NDArray[np.int64]:
        """Give up the entries of a rule that has left, whose number another one may get; where the others are now."""
        kept = self._keys[: self._used, 0] != rule
        left = int(kept.sum())
        return self._keep(kept, left, max(2 * left, 256))

    def of_rule(self, rule: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The keys of a rule that have a time, without the rule, and their times."""
        best = self.best[: self._used]
        mine = (self._keys[: self._used, 0] == rule) & (best < FAR_US)
        return self._keys[: self._used][mine][:, 1:], best[mine]

    def _room_for(self, needed: int) -> int:
        return needed * 5 // 4

    def _slots_for(self, capacity: int) -> int:
        return 1 << (4 * capacity // 3).bit_length()


class KeyTimes:
    """The keys of one guard: how they are made of rows, on both sides, and the entries."""

    def __init__(self, pairs: Sequence[KeyPair]) -> None:
        self.entries = KeyEntries(len(pairs))
        self._outer = [compile_expression(pair.outer) for pair in pairs]
        self._inner = [compile_expression(pair.inner) for pair in pairs]
        self._is_double = [
            ColumnType.DOUBLE in (pair.outer.type, pair.inner.type) for pair in pairs
        ]
        self._is_text = [pair.inner.type.held_as_text for pair in pairs]
        self._texts = [TextNumbers() if is_text else None for is_text in self._is_text]

    @property
    def nbytes(self) -> int:
        """Memory of the entries and the texts of keys."""
        return self.entries.nbytes + sum(each.nbytes for each in self._texts if each is not None)

    def outer(self, rules: NDArray[np.int64], fetch: Fetch) -> NDArray[np.int64]:
        """The keys that rows ask about: [row, rule and keys]; those of rows with NULL are nobody's."""
        keys, valid = self._keys(self._outer, rules, fetch)
        keys[~valid] = 0
        keys[~valid, 0] = _NOBODY
        return keys

    def take(self, rules: NDArray[np.int64], fetch: Fetch, times_us: NDArray[np.int64]) -> None:
        """Take tuples of the query inside EXISTS, with their times."""
        keys, valid = self._keys(self._inner, rules, fetch)
        self._enter(keys[valid], times_us[valid])

    def _enter(self, keys: NDArray[np.int64], times_us: NDArray[np.int64]) -> None:
        entries = self.entries.add(keys, np.zeros(len(keys), np.int64))
        self.entries.mark(entries, times_us)

    def _keys(
        self, made_by: Sequence[Any], rules: NDArray[np.int64], fetch: Fetch
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        keys = np.empty((len(rules), len(made_by) + 1), np.int64)
        keys[:, 0] = rules
        valid = np.ones(len(rules), np.bool_)
        for at, made in enumerate(made_by):
            column = made.run(fetch, len(rules))
            texts = self._texts[at]
            if texts is not None:
                keys[:, at + 1] = texts.of(column)
            else:
                kind = KeyKind.AS_DOUBLE if self._is_double[at] else KeyKind.PLAIN
                keys[:, at + 1] = plain_keys(column, kind)
            if column.valid is not None:
                valid &= column.valid
        return keys, valid

    # Going on elsewhere

    def save(self, rule: int) -> str:
        """The times of a rule, with their keys."""
        keys, times_us = self.entries.of_rule(rule)
        named: dict[str, Any] = {"ts": times_us}
        for at, texts in enumerate(self._texts):
            numbers = np.ascontiguousarray(keys[:, at])
            named[f"k{at}"] = numbers if texts is None else text_column(texts.texts(numbers))
        return saved(named)

    def load(self, rule: int, text: str) -> None:
        """Go on with what `save` wrote."""
        table = loaded(text)
        times_us = loaded_array(table, "ts")
        keys = np.empty((len(times_us), len(self._texts) + 1), np.int64)
        keys[:, 0] = rule
        for at, texts in enumerate(self._texts):
            if texts is None:
                keys[:, at + 1] = loaded_array(table, f"k{at}")
            else:
                column = table.column(f"k{at}").combine_chunks()
                keys[:, at + 1] = texts.of(text_column(column.cast(pa.string())))
        self._enter(keys, times_us)
