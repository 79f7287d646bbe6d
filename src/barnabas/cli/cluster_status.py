"""`barnabas cluster status`: brokers, unhealthy partitions, and whether a broker can be stopped safely."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final

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
from barnabas.cli.output import Cell, print_json, print_table, say
from barnabas.clients.admin_cluster import ClusterAdmin
from barnabas.clients.cluster_state import Broker, Cluster, Trouble, troubles
from barnabas.core.errors import BarnabasError

HELP = paragraphs(
    """Show the state of a cluster of Barnabas and Kafka brokers, and which brokers can be stopped safely.

Shows each broker's version and inter.broker.protocol.version, and lists partitions that are offline, under-replicated,
or at min.insync.replicas. A broker may stop if each of its partitions keeps a replica in sync without it, and at least
min.insync.replicas of them. Use a login that may describe all topics: other topics are not seen.

Exit code 0 if there is a controller, all brokers answer and all replicas are in sync; with --broker, if that broker may
stop now; otherwise 1.

Examples:

  barnabas cluster status

  barnabas cluster status --json
"""
)

# Number of partitions to show; --json lists all.
_MOST_ROWS: Final = 20


def status(
    broker: Annotated[
        int | None,
        Option("--broker", metavar="ID", min=0, max=2**31 - 1, help="Check whether this broker may stop now."),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> int:
    settings = client_settings("barnabas-cluster", command_config, timeout)

    async def work() -> Cluster:
        async with connect(bootstrap_server, settings, ClusterAdmin) as admin:
            return await admin.cluster()

    cluster = run_async(work())
    if broker is not None and (broker not in cluster.brokers or cluster.brokers[broker].failure):
        there = ", ".join(str(each.broker_id) for each in cluster.brokers.values() if not each.failure)
        raise BarnabasError(f"broker {broker} does not answer; the brokers that answer are {there}")
    if as_json:
        print_json(_as_dict(cluster))
    elif broker is None:
        _print(cluster)
    else:
        say(_answer(cluster, broker))
    is_fine = cluster.is_healthy if broker is None else not cluster.obstacles(broker)
    return 0 if is_fine else 1


def _answer(cluster: Cluster, broker_id: int) -> str:
    obstacles = cluster.obstacles(broker_id)
    if not obstacles:
        return f"Broker {broker_id} may stop now"
    return f"Broker {broker_id} may not stop now: {'; '.join(obstacles)}"


def _print(cluster: Cluster) -> None:
    count = len(cluster.partitions)
    say(f"Cluster {cluster.cluster_id or '-'}: {count} partition{'' if count == 1 else 's'}, {_controller(cluster)}")
    print_table(
        ["broker", "address", "runs", "protocol", "leads", "in sync", "of replicas", "may stop now"],
        [_broker_row(cluster, each) for each in cluster.brokers.values()],
    )
    lacking = [(each, found) for each in cluster.partitions if (found := troubles(each))]
    if lacking:
        say()
        counts = Counter(trouble for _, found in lacking for trouble in found)
        say(f"Partitions {', '.join(f'{trouble.value}: {counts[trouble]}' for trouble in Trouble if counts[trouble])}")
        print_table(
            ["partition", "leader", "replicas", "in sync", "least", "state"],
            [
                [
                    str(each.name),
                    each.leader_id if each.leader_id >= 0 else None,
                    _ids(each.replicas),
                    _ids(each.isr),
                    each.min_isr,
                    ", ".join(trouble.value for trouble in found),
                ]
                for each, found in lacking[:_MOST_ROWS]
            ],
        )
        if len(lacking) > _MOST_ROWS:
            say(f"and {len(lacking) - _MOST_ROWS} more; --json lists all")
    refused = [each for each in cluster.brokers.values() if each.failure or cluster.obstacles(each.broker_id)]
    if refused:
        say()
    for each in refused:
        say(f"Broker {each.broker_id}: {each.failure}" if each.failure else _answer(cluster, each.broker_id))


def _controller(cluster: Cluster) -> str:
    return "no controller" if cluster.controller_id < 0 else f"controller {cluster.controller_id}"


def _broker_row(cluster: Cluster, broker: Broker) -> list[Cell]:
    address = None if broker.address is None else f"{broker.address[0]}:{broker.address[1]}"
    may_stop = None if broker.failure else "no" if cluster.obstacles(broker.broker_id) else "yes"
    return [
        broker.broker_id,
        address,
        broker.software,
        broker.protocol_version,
        *cluster.counts(broker.broker_id),
        may_stop,
    ]


def _as_dict(cluster: Cluster) -> dict[str, object]:
    return {
        "cluster_id": cluster.cluster_id,
        "controller_id": cluster.controller_id if cluster.controller_id >= 0 else None,
        "is_healthy": cluster.is_healthy,
        "partition_count": len(cluster.partitions),
        "brokers": [_broker_as_dict(cluster, each) for each in cluster.brokers.values()],
        **{
            f"{trouble.name.lower()}_partitions": [
                {
                    "topic": each.name.topic,
                    "partition": each.name.partition,
                    "leader": each.leader_id if each.leader_id >= 0 else None,
                    "replicas": each.replicas,
                    "isr": each.isr,
                    "min_isr": each.min_isr,
                }
                for each in cluster.partitions
                if trouble in troubles(each)
            ]
            for trouble in Trouble
        },
    }


def _broker_as_dict(cluster: Cluster, broker: Broker) -> dict[str, object]:
    host, port = broker.address or (None, None)
    leads, in_sync, replicas = cluster.counts(broker.broker_id)
    obstacles = [] if broker.failure else cluster.obstacles(broker.broker_id)
    return {
        "broker": broker.broker_id,
        "host": host,
        "port": port,
        "software": broker.software,
        "inter_broker_protocol_version": broker.protocol_version,
        "failure": broker.failure or None,
        "leader_count": leads,
        "in_sync_count": in_sync,
        "replica_count": replicas,
        "may_stop": not broker.failure and not obstacles,
        "obstacles": obstacles,
    }


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))
