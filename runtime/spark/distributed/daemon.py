"""The process that Spark's Python workers are forked from, with the engine already loaded.

Spark starts one daemon on each executor and forks a worker for each task that runs at the same time. Loading the engine takes a
second of processor time; here it is loaded once, before the first fork, instead of by all workers at the same moment.

After every task a worker looks for garbage among all objects it has, which takes 70 ms when they are those of the engine; so what
is loaded here is taken out of the search.
"""

from __future__ import annotations

import gc

from pyspark import daemon

from cqc.runtime.kernel import compile_kernels
from cqc.runtime.spark.distributed import keeper, worker

if __name__ == "__main__":
    assert worker.SENT
    compile_kernels()
    gc.collect()
    gc.freeze()
    keeper.start()
    daemon.manager()
