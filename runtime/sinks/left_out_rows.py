"""Rows that are left out of a run, kept for those who want them: `--rejects`, `--late`, `--strict`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.sinks.side_lines import late_lines, plain, reject_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.intake.typed_batch import Reject
    from cqc.runtime.options import RunOptions
    from cqc.runtime.sinks.growing import Growing
    from cqc.runtime.sinks.output import Output

    Place = Output | Growing

_SHOWN_CHARACTERS = 200


class LeftOut:
    """Listens to an engine's streams and writes what they leave out, as JSON lines.

    Args:
        engine: the engine.
        options: say which files.
        open_file: opens the file of an option; by the option's name.
    """

    def __init__(
        self, engine: Engine, options: RunOptions, open_file: Callable[[str, Path], Place]
    ) -> None:
        self._strict = options.strict
        self._rejects = (
            None if options.rejects is None else open_file("rejects", Path(options.rejects))
        )
        self._late = None if options.late is None else open_file("late", Path(options.late))
        engine.on_left_out(
            self._take_rejects if self._strict or self._rejects is not None else None,
            self._take_late if self._late is not None else None,
        )

    def close(self) -> None:
        """Close the files."""
        for output in (self._rejects, self._late):
            if output is not None:
                output.close()

    def _take_rejects(self, relation: Relation, rejects: list[Reject]) -> None:
        if self._rejects is not None:
            self._rejects.write(reject_lines(relation, rejects))
            self._rejects.flush()
        if self._strict:
            raise RunError(
                f"a row of {relation.name} was rejected (--strict): {rejects[0].reason}: {_short(rejects[0])}"
            )

    def _take_late(self, relation: Relation, packet: Packet) -> None:
        assert self._late is not None
        self._late.write(late_lines(relation, packet))
        self._late.flush()


def _short(reject: Reject) -> str:
    text = json.dumps(plain(reject.row), ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
