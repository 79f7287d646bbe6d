"""A stream whose batches go to a table, as the runner does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.tables.table import Progress, Table
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def write_stream(spark: SparkSession, table: Table, directory: Path) -> list[int]:
    """Append a batch with the column `id`, put two more in by `update`; gives the ids that must be there."""
    source = directory / "source"
    source.mkdir()
    for number in range(3):
        (source / f"{number}.json").write_text("\n".join(json.dumps({"id": 10 * number + n}) for n in range(10)))

    def write(rows: DataFrame, batch: int) -> None:
        progress = Progress("load", batch + 1, "", {}, {})
        if batch == 0:
            table.append(rows, progress)
        else:
            table.update(rows, ["id"], progress)
        assert table.read().count() == 10 * (batch + 1)

    query = (
        spark.readStream.schema("id INT")
        .option("maxFilesPerTrigger", 1)
        .json(str(source))
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)
    return list(range(30))
