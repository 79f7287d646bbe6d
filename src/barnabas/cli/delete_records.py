"""`barnabas delete-records`: deletes records before retention does, with the option of kafka-delete-records."""

from typing import Annotated

from barnabas.cli.connection import client_settings, connect
from barnabas.cli.options import (
    DEFAULT_SERVER,
    AsJson,
    BootstrapServer,
    CommandConfig,
    Option,
    TimeoutMs,
    paragraphs,
    run_async,
)
from barnabas.cli.output import Cell, print_json, print_table
from barnabas.cli.partition_files import is_number, read_partitions
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition

HELP = paragraphs(
    """Delete the records of partitions below given offsets.

The file lists the partitions and offsets: {"version":1,"partitions":[{"topic":"views","partition":0,"offset":1000}]}.
The offset -1 means all records. Topics that are only compacted refuse the request. Deleted records cannot be restored.

Examples:

  barnabas delete-records --offset-json-file offsets.json
"""
)

_HIGH_WATERMARK = -1


def delete_records(
    offset_json_file: Annotated[
        str,
        Option(
            "--offset-json-file",
            metavar="FILE",
            help="JSON file with the partitions and, for each, the first offset to keep.",
        ),
    ],
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    offsets: dict[TopicPartition, int] = {}
    for partition, entry in read_partitions(offset_json_file).items():
        offset = entry.get("offset")
        if not is_number(offset, _HIGH_WATERMARK, 2**63 - 1):
            raise BarnabasError(f"{offset_json_file}: {partition} needs an offset, or -1 for all of its records")
        offsets[partition] = offset
    settings = client_settings("barnabas-delete-records", command_config, timeout)

    async def work() -> dict[TopicPartition, int | KafkaError]:
        async with connect(bootstrap_server, settings, OffsetAdmin) as admin:
            return await admin.delete_records(offsets)

    done = sorted(run_async(work()).items())
    rows: list[dict[str, Cell]] = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "low_watermark": result if isinstance(result, int) else None,
            "error": result.code.name if isinstance(result, KafkaError) else None,
        }
        for partition, result in done
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(["topic", "partition", "low watermark", "error"], [list(row.values()) for row in rows])
    failed = [str(partition) for partition, result in done if isinstance(result, KafkaError)]
    if failed:
        raise BarnabasError(f"records were not deleted: {', '.join(failed)}")
