"""One Spark session for all tests of this folder that need one, on one worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.runtime.spark.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/integration/spark" in item.path.as_posix():
            item.add_marker(pytest.mark.spark)
            if "session" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group("spark"))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def session() -> Iterator[Session]:
    with Session("local[2]") as session:
        yield session
