"""`barnabas elect-leaders`: triggers leader elections, with the options of kafka-leader-election."""

from collections.abc import Mapping
from typing import Annotated, Final

from barnabas.cli.connection import client_settings, connect
from barnabas.cli.options import (
    DEFAULT_SERVER,
    AsJson,
    BootstrapServer,
    CommandConfig,
    Option,
    TimeoutMs,
    flag,
    paragraphs,
    run_async,
)
from barnabas.cli.output import print_json, say
from barnabas.cli.partition_files import read_partitions
from barnabas.clients.admin_replicas import ElectionType, PartitionError, ReplicaAdmin
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition

HELP = paragraphs(
    """Trigger leader election.

PREFERRED elects the first replica, if it is in sync. UNCLEAN elects a replica that may lack records, for partitions
without a leader. Name one partition, a file ({"partitions":[{"topic":"views","partition":0}]}), or all partitions.

Examples:

  barnabas elect-leaders --election-type PREFERRED --all-topic-partitions
"""
)

_TYPES: Final = ", ".join(ElectionType.__members__)


def elect_leaders(
    election_type: Annotated[
        str, Option("--election-type", metavar="TYPE", help="Type of the election: PREFERRED or UNCLEAN.")
    ],
    topic: Annotated[
        str | None, Option("--topic", metavar="NAME", help="Topic of the partition given by --partition.")
    ] = None,
    partition: Annotated[
        int | None, Option("--partition", min=0, max=2**31 - 1, metavar="N", help="Number of the partition of --topic.")
    ] = None,
    path_to_json_file: Annotated[
        str | None, Option("--path-to-json-file", metavar="FILE", help="JSON file with the partitions.")
    ] = None,
    all_topic_partitions: Annotated[bool, flag("--all-topic-partitions", "Elect leaders of all partitions.")] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    if election_type.upper() not in ElectionType.__members__:
        raise BarnabasError(f"--election-type {election_type}: must be one of {_TYPES}")
    kind = ElectionType[election_type.upper()]
    if (topic is None) != (partition is None):
        raise BarnabasError("--topic and --partition must be given together")
    if (topic is not None) + (path_to_json_file is not None) + all_topic_partitions != 1:
        raise BarnabasError(
            "exactly one is required: --topic NAME with --partition N, --path-to-json-file FILE, or "
            "--all-topic-partitions"
        )
    partitions: list[TopicPartition] | None = None
    if topic is not None and partition is not None:
        partitions = [TopicPartition(topic, partition)]
    elif path_to_json_file is not None:
        partitions = list(read_partitions(path_to_json_file))
    settings = client_settings("barnabas-elect-leaders", command_config, timeout)

    async def work() -> dict[TopicPartition, PartitionError]:
        async with connect(bootstrap_server, settings, ReplicaAdmin) as admin:
            return await admin.elect_leaders(kind, partitions)

    _show(kind, dict(sorted(run_async(work()).items())), as_json)


def _show(kind: ElectionType, results: Mapping[TopicPartition, PartitionError], as_json: bool) -> None:
    elected = [str(part) for part, result in results.items() if result.code is ErrorCode.NONE]
    unneeded = [str(part) for part, result in results.items() if result.code is ErrorCode.ELECTION_NOT_NEEDED]
    failed = [f"{part}: {r.message}" for part, r in results.items() if str(part) not in {*elected, *unneeded}]
    if as_json:
        print_json(
            [
                {"topic": part.topic, "partition": part.partition, "error": r.code.name if r.code else None}
                for part, r in results.items()
            ]
        )
    else:
        if elected:
            say(f"Successfully completed leader election ({kind.name}) for partitions {', '.join(elected)}")
        if unneeded:
            say(f"Valid replica already elected for partitions {', '.join(unneeded)}")
        if not results:
            say("Valid replica already elected for all partitions")
    if failed:
        raise BarnabasError(f"leaders were not elected: {'; '.join(failed)}")
