"""Results in files, exactly once: JSON lines and CSV in files that grow, Parquet in files of their own; perhaps by the values of columns.

    path = 'alerts.jsonl'                              one file
    path = 'alerts/', partition_by = 'room'            alerts/room=kitchen/results.jsonl, ...

How long each file was is written down together with the sink's place, after the rows are on the disk: a run that goes on cuts off what
was written since. A Parquet file is named by its first result, so that one written again replaces itself.
"""

from __future__ import annotations

import csv
import io
import math
import os
import urllib.parse
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import private_folder
from cqc.runtime.files.sealed import read_sealed_json, write_sealed_json
from cqc.runtime.receivers.exact_values import cells_of, exact_value, json_text
from cqc.runtime.receivers.templates import shown
from cqc.runtime.sinks.growing import Growing, Known
from cqc.runtime.sinks.output import make_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.receivers.receiver import Columns, Sent, Setting

_EMPTY = "__NULL__"


class FileReceiver:
    """Writes to one file, or to the files of a folder."""

    at_once = 10_000

    def __init__(self, setting: Setting) -> None:
        options = setting.options
        self._path = Path(setting.base) / options["path"]
        self._format = options.get("format") or _format_of(options["path"])
        self._by = [
            name.strip() for name in options.get("partition_by", "").split(",") if name.strip()
        ]
        self._is_folder = (
            bool(self._by) or self._format == "parquet" or options["path"].endswith("/")
        )
        self._run = setting.run
        self._note: Path | None = None
        self._number = 0
        self._files: dict[Path, Growing] = {}
        self._headers: dict[Path, Columns] = {}
        known: dict[str, Any] = {}
        if setting.folder is not None:
            private_folder(Path(setting.folder))
            self._note = Path(setting.folder) / "files.json"
            if self._note.exists():
                stored = read_sealed_json(self._note)
                if stored["run"] == setting.run:
                    self._number, known = stored["number"], stored["files"]
        if self._is_folder:
            make_folder(self._path)
        for name, each in known.items():
            self._files[Path(name)] = Growing(Path(name), Known(**each), "path of the sink")
        if not self._is_folder and self._path not in self._files:
            make_folder(self._path.parent)
            self._open(self._path)

    def stored(self) -> int | None:
        return self._number

    def send(self, results: Sequence[Sent]) -> None:
        for path, own in self._placed(results).items():
            if self._format == "parquet":
                self._write_parquet(path, own)
            else:
                self._open(path).append(self._text(path, own))
        self._number = results[-1].number
        known = {str(path): file.keep(0).to_json() for path, file in self._files.items()}
        if self._note is not None:
            write_sealed_json(
                self._note, {"run": self._run, "number": self._number, "files": known}
            )

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _placed(self, results: Sequence[Sent]) -> dict[Path, list[Sent]]:
        """Results by the file they go to."""
        if not self._is_folder:
            return {self._path: list(results)}
        placed: dict[Path, list[Sent]] = {}
        ending = "parquet" if self._format == "parquet" else self._format
        for each in results:
            folder = self._path
            row = each.value()["row"] if self._by else {}
            for name in self._by:
                if name not in row:
                    raise RunError(f"query {each.query} has no column {name} to part files by")
                cell = _EMPTY if row[name] is None else shown(row[name])
                folder = folder / f"{name}={urllib.parse.quote(cell, safe='') or '%00'}"
            file = f"{results[0].number:012d}" if ending == "parquet" else "results"
            if not self._by or self._format != "jsonl":
                file = f"{urllib.parse.quote(each.query, safe='')}" + (
                    f"-{results[0].number:012d}" if ending == "parquet" else ""
                )
            placed.setdefault(folder / f"{file}.{ending}", []).append(each)
        return placed

    def _open(self, path: Path) -> Growing:
        file = self._files.get(path)
        if file is None:
            make_folder(path.parent)
            file = self._files[path] = Growing(path, None, "path of the sink")
        return file

    def _text(self, path: Path, results: Sequence[Sent]) -> bytes:
        if self._format == "jsonl":
            return "".join(f"{each.line}\n" for each in results).encode()
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        columns = self._headers.get(path)
        for each in results:
            value = exact_value(each)
            if columns is None and not self._open(path).length and not out.tell():
                writer.writerow(_header(each, is_alert="alert" in value))
            columns = self._headers.setdefault(path, each.columns)
            if columns.names != each.columns.names:
                raise RunError(
                    f"query {each.query} has other columns than those before it in {path}: CSV needs a sink of its own, or a folder"
                )
            time = value.get("ts", value.get("at"))
            cells = ("" if cell is None else _csv_text(cell) for cell in cells_of(each, value))
            alert = [json_text(value["alert"])] if "alert" in value else []
            writer.writerow([each.query, time, *cells, *alert, each.id])
        return out.getvalue().encode()

    def _write_parquet(self, path: Path, results: Sequence[Sent]) -> None:
        import pyarrow.parquet as pq

        make_folder(path.parent)
        aside = path.with_name(f".{path.name}.part")
        pq.write_table(arrow_table(results), aside)
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.replace(path)


def _header(result: Sent, *, is_alert: bool) -> list[str]:
    """The names of a CSV file, as `--out` has them; the time of the result stands beside a column that is called like it."""
    names = result.columns.names
    time = "result_ts" if "ts" in names else "ts"
    return ["query", time, *names, *(["alert"] if is_alert else []), "id"]


def _csv_text(cell: Any) -> str:
    match cell:
        case float() if math.isnan(cell):
            return "NaN"
        case float() if math.isinf(cell):
            return "Infinity" if cell > 0 else "-Infinity"
        case _:
            return shown(cell)


def _format_of(path: str) -> str:
    ending = Path(path).suffix.lower()
    return {".csv": "csv", ".parquet": "parquet"}.get(ending, "jsonl")


def arrow_table(results: Sequence[Sent]) -> Any:
    """Results of one shape as an Arrow table: `_id`, `_query`, `_ts`, `_alert` where they are of an alert, then the query's columns."""
    import pyarrow as pa

    rows = [_plain(each) for each in results]
    schema = _schema(results[0].columns, is_alert="_alert" in rows[0])
    return pa.Table.from_pylist(rows, schema=schema)


def _schema(columns: Columns, *, is_alert: bool) -> Any:
    import pyarrow as pa

    named = zip(columns.names, columns.types, strict=True)
    return pa.schema(
        [
            ("_id", pa.string()),
            ("_query", pa.string()),
            ("_ts", _arrow_type(columns.time_type)),
            *([("_alert", pa.string())] if is_alert else []),
            *((name, _arrow_type(kind)) for name, kind in named),
        ]
    )


def _arrow_type(kind: str) -> Any:
    import pyarrow as pa

    name, _, digits = kind.partition("(")
    if name == "DECIMAL":
        precision, scale = (int(number) for number in digits.rstrip(")").split(","))
        return pa.decimal128(precision, scale)
    types = {
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "TIMESTAMP": pa.timestamp("us", "UTC"),
        "INTERVAL": pa.float64(),
        "DATE": pa.date32(),
    }
    return types.get(name, pa.string())


def _plain(result: Sent) -> dict[str, Any]:
    """The values of a result as Arrow takes them."""
    value = exact_value(result)
    time = value.get("ts", value.get("at"))
    row: dict[str, Any] = {
        "_id": result.id,
        "_query": result.query,
        "_ts": _moment(time, result.columns.time_type),
    }
    if "alert" in value:
        row["_alert"] = json_text(value["alert"])
    named = zip(result.columns.names, result.columns.types, strict=True)
    for (name, kind), cell in zip(named, cells_of(result, value), strict=True):
        row[name] = _moment(cell, kind)
    return row


def _moment(cell: Any, kind: str) -> Any:
    if cell is not None and kind == "TIMESTAMP":
        return datetime.fromisoformat(cell)
    if cell is not None and kind == "DATE":
        return date.fromisoformat(cell)
    return cell
