"""Where the archive of Spark's loaded classes is, and how the JVM is told of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pyspark

from cqc.runtime.spark.session.java import java_name


def archive_path() -> Path:
    """Where the archive of this environment is."""
    return Path(sys.prefix) / "share" / "cqc" / f"spark-{pyspark.__version__}-{java_name()}.jsa"


def archive_options() -> str:
    """What the JVM must be told to use the archive; nothing when there is none."""
    path = archive_path()
    if not path.exists() or " " in str(path):
        return ""
    return f"-XX:SharedArchiveFile={path}"
