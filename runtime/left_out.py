"""Rows that are left out of a run, kept for those who want them: `--rejects`, `--late`, `--strict`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.sinks.json_text import json_rows

if TYPE_CHECKING:
    from cqc.compiler.catalog import Relation
    from cqc.runtime.engine import Engine
    from cqc.runtime.intake import Reject
    from cqc.runtime.options import RunOptions
    from cqc.runtime.packet import Packet


class LeftOut:
    """Listens to an engine's streams and writes what they leave out, as JSON lines."""

    def __init__(self, engine: Engine, options: RunOptions) -> None:
        self._strict = options.strict
        self._rejects = _open(options.rejects)
        self._late = _open(options.late)
        engine.on_left_out(
            self._take_rejects if self._strict or self._rejects is not None else None,
            self._take_late if self._late is not None else None,
        )

    def close(self) -> None:
        """Close the files."""
        for file in (self._rejects, self._late):
            if file is not None:
                file.close()

    def _take_rejects(self, relation: Relation, rejects: list[Reject]) -> None:
        if self._rejects is not None:
            rows = [json.dumps(reject.row, ensure_ascii=False, default=str) for reject in rejects]
            reasons = [reject.reason for reject in rejects]
            _write(self._rejects, relation, reasons, rows)
        if self._strict:
            first = rejects[0]
            raise RunError(
                f"a row of {relation.name} was rejected (--strict): {first.reason}: {_short(first.row)}"
            )

    def _take_late(self, relation: Relation, packet: Packet) -> None:
        names = [column.name for column in relation.columns]
        rows = json_rows(names, packet.columns, len(packet)).to_pylist()
        _write(self._late, relation, ["late"] * len(rows), rows)


def _write(file: Any, relation: Relation, reasons: list[str], rows: list[str]) -> None:
    stream = json.dumps(relation.name, ensure_ascii=False)
    lines = [
        f'{{"stream": {stream}, "reason": {json.dumps(reason, ensure_ascii=False)}, "row": {row}}}\n'
        for reason, row in zip(reasons, rows, strict=True)
    ]
    try:
        file.write("".join(lines))
        file.flush()
    except OSError as error:
        raise RunError(f"cannot write {file.name}: {error.strerror}") from error


def _open(path: str | None) -> Any:
    if path is None:
        return None
    try:
        return Path(path).open("w", encoding="utf-8", errors="replace")
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from error


def _short(row: Any) -> str:
    text = json.dumps(row, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else text[:200] + "..."
