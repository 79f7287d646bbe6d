"""Spark's Python worker daemon (`spark.python.daemon.module`), without Spark's archives on the import path.

Before each task, a worker invalidates its import caches (`importlib.invalidate_caches`), and reads the directory of
each archive on the path again. For `pyspark.zip` that takes 140 ms of CPU. The installed package has the same modules.

The daemon and its workers block SIGTERM, as a supervisor that signals each process of a control group would end the
current batch. They exit with the JVM, which closes their standard input.

Source: pyspark 4.0.0, `daemon.py` and `worker_util.setup_spark_files`.
"""

import signal
import sys

# The archives include Spark's own jar.
sys.path[:] = [each for each in sys.path if not each.endswith((".zip", ".jar"))]
for each in [each for each in sys.path_importer_cache if ".zip" in each or ".jar" in each]:
    del sys.path_importer_cache[each]

from pyspark.daemon import manager  # noqa: E402

if __name__ == "__main__":
    # Blocked, because `manager` sets its own handler and workers the default one. Forked workers inherit the mask.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    manager()  # type: ignore[no-untyped-call]
