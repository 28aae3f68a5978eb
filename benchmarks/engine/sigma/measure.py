"""One measurement: `python -m cqc.benchmarks.engine.sigma.measure WHAT FOLDER`; prints one JSON object."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cqc
from cqc.benchmarks.engine.rules.steady import batches_of
from cqc.importers.rule_files import write_program
from cqc.importers.sigma.rule_set import import_rules
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import LocalRun


def convert(folder: Path, sets: tuple[str, ...] = ("sigma",)) -> tuple[Path, float]:
    """Import the rules; the folder of the program, and the CPU seconds."""
    out = Path(tempfile.mkdtemp(prefix="cqc-bench-sigma-"))
    started = time.process_time()
    imported = import_rules([str(folder / each) for each in sets], None, delay="1 SECOND")
    write_program(out, imported.streams, imported.files)
    spent = time.process_time() - started
    if imported.not_said:
        raise RuntimeError(f"not said: {imported.not_said[0]}")
    return out, spent


def main(what: str, folder: Path) -> dict[str, Any]:
    """CPU seconds of one thing, and what it found."""
    if what == "convert":
        out, spent = convert(folder)
        started = time.process_time()
        program = cqc.compile_files(out)
        compiled = time.process_time() - started
        return {"cpu_s": spent, "compile_s": compiled, "rules": len(program.queries)}
    out, _ = convert(folder, ("sigma", "correlations") if what == "correlations" else ("sigma",))
    program = cqc.compile_files(out)
    if what == "json":
        return _from_json(program, folder)
    changed = out / f"{program.queries.names[7]}.cq" if what == "arrow" else None
    return _from_arrow(program, folder, changed=changed)


def _from_json(program: cqc.Program, folder: Path) -> dict[str, Any]:
    used = {relation.name for relation in program.catalog.relations.values()}
    binds = {
        path.stem: str(path) for path in (folder / "several").glob("*.jsonl") if path.stem in used
    }
    started = time.process_time()
    run = LocalRun(program, RunOptions(binds=binds, sink="none"))
    run.to_end()
    summary = run.close()
    spent = time.process_time() - started
    read = sum(count.read for count in summary.streams.values())
    return {"cpu_s": spent, "rate": read / spent, "results": sum(summary.queries.values())}


def _from_arrow(program: cqc.Program, folder: Path, *, changed: Path | None) -> dict[str, Any]:
    """Batches of Arrow; the first twentieth is the start, and not timed."""
    engine = cqc.Engine(program)
    used = {relation.name for relation in program.catalog.relations.values()}
    batches = [each for each in batches_of(folder) if each[0] in used]
    spent, counted, results = 0.0, 0, 0
    for number, (name, batch) in enumerate(batches):
        started = time.process_time()
        engine.push(name, batch)
        results += sum(1 for _ in engine.drain())
        if number >= len(batches) // 20:
            spent += time.process_time() - started
            counted += batch.num_rows
    started = time.process_time()
    engine.finish()
    results += sum(1 for _ in engine.drain())
    spent += time.process_time() - started
    found = {"cpu_s": spent, "rate": counted / spent, "results": results}
    if changed is not None:
        text = changed.read_text(encoding="utf-8")
        started = time.perf_counter()
        engine.unregister(changed.stem)
        engine.register(text[text.index("CREATE QUERY") :])
        found["change_s"] = time.perf_counter() - started
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
