"""Rows that are left out of a run, kept for those who want them: `--rejects`, `--late`, `--strict`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.sinks.output import Output
from cqc.runtime.sinks.side_lines import late_lines, plain, reject_lines

if TYPE_CHECKING:
    from cqc.compiler.catalog import Relation
    from cqc.runtime.engine import Engine
    from cqc.runtime.intake import Reject
    from cqc.runtime.options import RunOptions
    from cqc.runtime.packet import Packet

_SHOWN_CHARACTERS = 200


class LeftOut:
    """Listens to an engine's streams and writes what they leave out, as JSON lines."""

    def __init__(self, engine: Engine, options: RunOptions) -> None:
        self._strict = options.strict
        resumed = options.checkpoint is not None  # the files were cut back to what counts
        self._rejects = _output(options.rejects, append=resumed)
        self._late = _output(options.late, append=resumed)
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


def _output(path: str | None, *, append: bool) -> Output | None:
    return None if path is None else Output(Path(path), append=append)


def _short(reject: Reject) -> str:
    text = json.dumps(plain(reject.row), ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
