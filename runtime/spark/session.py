"""A Spark session of our own: quick to start, silent, and gone without a trace.

Everything the JVM says goes to a log file that is named when something fails. Its temporary files are in one folder that is
removed at the end. The JVM is ended by its process id once the work is done: nothing it holds is worth waiting for, since
results are ours and checkpoints are complete after every micro-batch.

A session that is there already (`spark-submit`, a notebook) is used as it is, and left as it was.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from cqc.runtime.errors import RunError
from cqc.runtime.spark.archive_path import archive_options
from cqc.runtime.spark.java import java_home

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_PREFIX = "cqc-spark-"
_STREAMING = "org.apache.spark.sql.execution.streaming.checkpointing"
SETTINGS = {
    "spark.app.name": "cqc",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Without these two the JVM starts an external program for every file it writes.
    "spark.sql.streaming.checkpointFileManagerClass": f"{_STREAMING}.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.pollingDelay": "20ms",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "ERROR",
}
# The JVM passes on lists of files and does no heavy work of its own: a quick start beats the best code.
_JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto"


class Session:
    """A running Spark session, ours to end or somebody else's.

    Args:
        master: where to run; local mode with every core by default.
        jvm_options: more options for the JVM.

    Raises:
        RunError: when Spark does not start.
    """

    def __init__(self, master: str | None = None, *, jvm_options: str | None = None) -> None:
        _remove_left_behind()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._jvm_options = archive_options() if jvm_options is None else jvm_options
        self.log = self._folder / "spark.log"
        self._java: Any = None  # the process of our own JVM
        atexit.register(self.close)
        try:
            self.spark = self._existing() or self._start(master)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def new_folder(self) -> Path:
        """A new folder for files that live as long as the session."""
        return Path(tempfile.mkdtemp(dir=self._folder))

    def cpu_seconds(self) -> float:
        """Processor time of this process and of the JVM so far."""
        own = time.process_time()
        if self._java is None:
            return own
        fields = Path(f"/proc/{self._java.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        user, system = fields.split()[11:13]
        return own + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def keep_log(self) -> Path:
        """Where the log is that outlives the session."""
        kept = Path(tempfile.gettempdir()) / f"cqc-spark-{os.getpid()}.log"
        if self.log.exists():
            shutil.copyfile(self.log, kept)
        return kept

    def end_gently(self, number: int, limit_s: float) -> None:
        """Ask the JVM to end by a signal, and wait for it."""
        if self._java is not None:
            self._java.send_signal(number)
            self._java.wait(timeout=limit_s)

    def close(self) -> None:
        """End the JVM if it is ours, and remove every file it made."""
        if self._java is not None:
            # Threads that wait for an answer from the JVM would complain that it has gone.
            logging.getLogger("py4j").setLevel(logging.CRITICAL)
            self._java.kill()
            self._java.wait(timeout=30)
            self._java.stdin.close()
            self._java = None
            _forget_context()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.close)

    def _existing(self) -> SparkSession | None:
        active = SparkSession.getActiveSession()
        if active is None and "PYSPARK_GATEWAY_PORT" in os.environ:  # inside spark-submit
            active = SparkSession.builder.getOrCreate()
        return active

    def _start(self, master: str | None) -> SparkSession:
        logging.getLogger().addFilter(_is_not_of_the_gateway)
        home = java_home(self._folder)
        if home is not None:
            os.environ["JAVA_HOME"] = home
        # The name of the interpreter reaches some of Spark's processes by the environment only.
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        conf = SparkConf(loadDefaults=False).setAll(
            [*SETTINGS.items(), *self._own_settings(master)]
        )
        with self.log.open("wb") as log:
            try:
                gateway = launch_gateway(conf, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]  # pyspark's own
                self._java = gateway.proc
                context = SparkContext(conf=conf, gateway=gateway)
            except (PySparkException, OSError) as error:
                raise RunError(f"Spark does not start; its log is {self.keep_log()}") from error
        return SparkSession(context)

    def _own_settings(self, master: str | None) -> list[tuple[str, str]]:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return [
            ("spark.master", master or "local[*]"),
            ("spark.sql.shuffle.partitions", str(cores)),
            ("spark.local.dir", str(self._folder)),
            ("spark.sql.warehouse.dir", str(self._folder / "warehouse")),
            (
                "spark.driver.extraJavaOptions",
                f"{_JVM_OPTIONS} {self._jvm_options} -Djava.io.tmpdir={self._folder}",
            ),
        ]


def _is_not_of_the_gateway(record: logging.LogRecord) -> bool:
    """When the JVM has gone, py4j shows a traceback to everybody; what that means is said by `spark_failed`."""
    return "py4j" not in Path(record.pathname).parts


def spark_failed(error: BaseException, session: Session | None) -> RunError:
    """What went wrong inside Spark, in one sentence."""
    log = "" if session is None else f"; its log is {session.keep_log()}"
    reason = str(error).strip().partition("\n")[0]
    if not isinstance(error, PySparkException):
        reason = "its process has gone"  # there is nobody left who could say why
    return RunError(f"Spark failed: {reason}{log}")


def _remove_left_behind() -> None:
    """Remove the files of sessions whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists() and Path("/proc/self").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _forget_context() -> None:
    """Let a later session in this process begin afresh: pyspark keeps the one JVM in class variables."""
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
