"""Spark's daemon of Python workers, without Spark's archives on the path: `spark.python.daemon.module`.

Before each task a worker forgets what it knows of the path (`importlib.invalidate_caches`), and reads the directory of
each archive on it again. For `pyspark.zip` that takes 140 ms of CPU. The same modules are in the installed package.

SIGTERM does not reach it or its workers: a supervisor that asks each process of a control group would end the batch
under way. They end with the JVM, which closes their standard input.

Source: pyspark 4.0.0, `daemon.py` and `worker_util.setup_spark_files`.
"""

import signal
import sys

# Among them is the jar of Spark itself.
sys.path[:] = [each for each in sys.path if not each.endswith((".zip", ".jar"))]
for each in [each for each in sys.path_importer_cache if ".zip" in each or ".jar" in each]:
    del sys.path_importer_cache[each]

from pyspark.daemon import manager  # noqa: E402

if __name__ == "__main__":
    # `manager` sets a handler, and its workers none: what is blocked reaches neither, and is so behind a fork, too.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    manager()  # type: ignore[no-untyped-call]
