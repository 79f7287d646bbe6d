"""One Spark session for all tests of a run: it takes seconds to start, and a process can hold one."""

from __future__ import annotations

import atexit
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.session import KAFKA_CONNECTOR, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@cache
def shared_session() -> SparkSession:
    """Give the session; it ends with the process."""
    stack = ExitStack()
    atexit.register(stack.close)
    scratch = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
    return stack.enter_context(spark_session("barnabas-tests", scratch=Path(scratch), packages=KAFKA_CONNECTOR))
