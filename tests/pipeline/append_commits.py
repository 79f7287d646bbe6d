"""A program that appends to a table commit by commit, and goes on where the table ends: for tests that kill it.

    python -m tests.pipeline.append_commits FORMAT LOCATION COMMIT_COUNT

LOCATION may be a name in a catalog that PyIceberg's configuration names. It says
`committed N` after each commit. Commit N has the rows from `ROW_COUNT` * (N - 1) on.
"""

import sys
import tempfile
from pathlib import Path

from barnabas.pipeline.spark.catalogs import catalog_settings
from barnabas.pipeline.spark.session import spark_session
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.table import Progress

ROW_COUNT = 100
RUN = "load"


def main(format_name: str, location: str, commit_count: int) -> None:
    settings = catalog_settings(location, {}) if format_name == "iceberg" else {}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        spark_session("append", scratch=Path(scratch), settings=settings) as spark,
    ):
        table = open_table(spark, location, format_name)
        while True:
            last = table.progress(RUN)
            sequence = last.sequence + 1 if last else 1
            if sequence > commit_count:
                return
            end = sequence * ROW_COUNT
            rows = spark.range(end - ROW_COUNT, end, 1, 2).selectExpr(
                "'views' AS _topic", "0 AS _partition", "id AS _offset", "concat('page-', id) AS page"
            )
            table.append(rows, Progress(RUN, sequence, "cluster-1", {"views": {0: end}}, {}))
            print("committed", sequence, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
