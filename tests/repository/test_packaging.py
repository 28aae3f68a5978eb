"""The distributions hold every folder that has code, and work where the repository is not.

setuptools cannot discover mapped packages, so the list in pyproject.toml is checked here. Wheel and
sdist are built from a copy (a build leaves folders behind), and each is installed into a fresh
environment that sees the dependencies of this one, but not this one's cqc.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]

LOOK_AROUND = """
import importlib, pathlib, sys
import cqc
from cqc.grammar import grammar_text
for name in sys.argv[1:]:
    importlib.import_module(name)
assert "start" in grammar_text()
print(pathlib.Path(cqc.__file__).resolve())
"""


def test_every_code_folder_is_listed() -> None:
    found = set()
    for package, folder in SETUPTOOLS["package-dir"].items():
        for init in (ROOT / folder).rglob("__init__.py"):
            inner = init.parent.relative_to(ROOT / folder).parts
            if package != "cqc" or not inner:
                found.add(".".join((package, *inner)))
    assert found == set(SETUPTOOLS["packages"])


def test_every_folder_with_code_is_a_package() -> None:
    folders = {
        file.parent
        for folder in SETUPTOOLS["package-dir"].values()
        for file in (ROOT / folder).rglob("*.py")
    }
    assert not [folder for folder in sorted(folders) if not (folder / "__init__.py").exists()]


def test_links_in_the_facade_are_relative_and_match_the_mapping() -> None:
    links = {
        link.name: str(link.readlink()) for link in (ROOT / "cqc").iterdir() if link.is_symlink()
    }
    mapped = {
        package.partition(".")[2]: folder
        for package, folder in SETUPTOOLS["package-dir"].items()
        if package.partition(".")[0] == "cqc"
    }
    assert links == {name: f"../{folder}" for name, folder in mapped.items() if name}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("packaging")
    copy = work / "copy"
    skipped = shutil.ignore_patterns(
        ".*", "__pycache__", "tests", "examples", "build", "dist", "*.egg-info", "results"
    )
    shutil.copytree(ROOT, copy, symlinks=True, ignore=skipped)
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", work / "dist", copy], work)
    return work / "dist"


@pytest.mark.packaging
@pytest.mark.xdist_group("packaging")
def test_both_carry_the_backend_for_pysigma_and_the_mappings(distributions: Path) -> None:
    (wheel,), (sdist,) = distributions.glob("*.whl"), distributions.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    assert {"sigma/backends/cqc/__init__.py", "cqc/importers/mappings/default.yml"} <= inside
    assert not {"sigma/__init__.py", "sigma/backends/__init__.py"} & inside  # pySigma's name space
    with tarfile.open(sdist) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {"sigma/backends/cqc/__init__.py", "importers/mappings/default.yml"} <= names


@pytest.mark.packaging
@pytest.mark.xdist_group("packaging")
@pytest.mark.parametrize("pattern", ["*.whl", "*.tar.gz"])
def test_installed_distribution_runs(pattern: str, distributions: Path, tmp_path: Path) -> None:
    (distribution,) = distributions.glob(pattern)
    environment = clean_environment(tmp_path / "environment")
    python = environment / "bin" / "python"
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed"]
    run([python, "-m", "pip", "install", *options, distribution], tmp_path)

    home = run([python, "-c", LOOK_AROUND, *packages_without_spark()], tmp_path)
    assert Path(home.strip()).is_relative_to(environment.resolve())
    assert "Usage: cqc" in run([environment / "bin" / "cqc", "--help"], tmp_path)


def clean_environment(folder: Path) -> Path:
    """An empty environment that sees this one's dependencies, but neither its cqc nor its hooks."""
    run([sys.executable, "-m", "venv", "--without-pip", folder], folder.parent)
    python = folder / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    inside = Path(run([python, "-c", where], folder.parent).strip())
    outside = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (inside / "dependencies.pth").write_text("\n".join(sorted(outside)) + "\n")
    return folder


def packages_without_spark() -> list[str]:
    """Those that can be imported here: the backend for pySigma where there is pySigma."""
    names = [name for name in SETUPTOOLS["packages"] if "spark" not in name]
    has_pysigma = importlib.util.find_spec("yaml") and importlib.util.find_spec("sigma.rule")
    return names if has_pysigma else [name for name in names if not name.startswith("sigma.")]


def run(command: list[str | Path], folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    finished = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout
