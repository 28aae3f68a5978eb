"""`cqc run --distribute` on a machine so busy that the first connections of its workers are refused.

    python -m tests.integration.spark.distributed.refused FOLDER run ...

Spark starts this module as the daemon of its workers too, which then have FOLDER by the environment.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

FOLDER = "REFUSED_FOLDER"
REFUSED = 2


def refuse_first() -> None:
    """Let the first connections of workers to Spark's state fail."""
    from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorApiClient

    real = StatefulProcessorApiClient.__init__

    def connect(self: Any, *arguments: Any, **named: Any) -> None:
        for number in range(REFUSED):
            try:
                (Path(os.environ[FOLDER]) / f"refused-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            raise ConnectionRefusedError(111, "Connection refused")
        real(self, *arguments, **named)

    StatefulProcessorApiClient.__init__ = connect  # type: ignore[method-assign]  # for a test


def run() -> None:
    os.environ[FOLDER] = sys.argv[1]
    from cqc.runtime.spark.session import session

    session.SETTINGS["spark.python.daemon.module"] = __spec__.name
    from cqc.cli.main import main

    main(sys.argv[2:])


def be_the_daemon() -> None:
    from pyspark import daemon

    from cqc.runtime.spark.distributed import keeper

    refuse_first()
    keeper.start()
    daemon.manager()


if __name__ == "__main__":
    run() if len(sys.argv) > 2 else be_the_daemon()
