"""Run a program over the streaming DataFrames of a Spark session.

Example:
    >>> import cqc  # doctest: +SKIP
    >>> handle = cqc.spark.start(program, spark, sources={"B": streaming_df})  # doctest: +SKIP
"""

from cqc.runtime.spark.handle import Handle, start

__all__ = ["Handle", "start"]
