"""Short episodes of chaos with fixed seeds; `make chaos` is the long form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.chaos import run_episode
from tests.integration.chaos.ledger import Ledger
from tests.integration.chaos.run_episode import RunEpisode
from tests.integration.chaos.serve_episode import ServeEpisode

if TYPE_CHECKING:
    from pathlib import Path


def check(
    kind: type[RunEpisode], engine: str, seed: str, troubles: tuple[str, ...], kept: Path
) -> None:
    """Go through troubles; every one must end well."""
    ledger = Ledger()
    episode = kind(engine, seed, ledger, kept)
    episode.most_kills = 1
    episode.run(troubles)
    assert ledger.is_clean, "\n".join([*ledger.faults, ledger.table()])
    assert ledger.tried(engine).total() == len(troubles) + 1


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "troubles",
    [
        ("killed at a write", "bit flipped", "output shortened"),
        ("source rewritten", "query broken"),
    ],
    ids=" then ".join,
)
def test_a_run_that_is_troubled_gives_the_right_answer(
    troubles: tuple[str, ...], tmp_path: Path
) -> None:
    check(RunEpisode, "local", "short", troubles, tmp_path / "kept")


@pytest.mark.timeout(600)
def test_a_service_that_is_troubled_gives_the_right_answers(tmp_path: Path) -> None:
    troubles = ("killed at random", "bit flipped", "source removed")
    check(ServeEpisode, "serve", "short", troubles, tmp_path / "kept")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(3600)
def test_every_trouble_on_spark_ends_with_the_right_answer(tmp_path: Path) -> None:
    troubles = (*dict.fromkeys(run_episode.TROUBLES), "Java killed")
    check(RunEpisode, "spark", "short", troubles, tmp_path / "kept")
