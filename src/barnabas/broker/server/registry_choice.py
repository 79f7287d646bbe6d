"""Choice of the registry for the cluster's state (this process, or ZooKeeper), and the broker's identity in it.

Invariant: a directory with state in one of them is not started with the other.

Source: design page, registry; zookeeper.md, opening notes.
"""

import logging
from pathlib import Path

from barnabas.broker.log.manager import LogManager
from barnabas.broker.registry.embedded import REGISTRY_FILE
from barnabas.broker.server.environment import Environment
from barnabas.core.config import BrokerConfig
from barnabas.core.config.versions import kafka_version
from barnabas.core.errors import StartupError
from barnabas.core.executor import Executor
from barnabas.wire.registry import bootstrap
from barnabas.wire.registry.store import Registry

log = logging.getLogger(__name__)


async def open_registry(env: Environment, config: BrokerConfig, logs: LogManager, executor: Executor) -> Registry:
    """Begin a session with the registry that the settings name.

    Args:
        logs: The locked log directories, which contain the ids of their owner.
        executor: For blocking work of an embedded registry.

    Raises:
        StartupError: The directories' state is elsewhere, or the registry cannot be reached or read.
    """
    path = Path(config.log_dirs[0]) / REGISTRY_FILE
    if config.zookeeper_connect:
        # With ZooKeeper the first directory is like any other: the broker continues if it fails.
        is_kept_here = any(each.path == path.parent for each in logs.directories) and env.registry.holds(path)
        return await _open_zookeeper(env, config, is_kept_here)
    cluster_id, broker_id = logs.known_cluster_id, logs.known_broker_id
    # Kafka before 2.4 stores only the broker id.
    if (cluster_id is not None or broker_id is not None) and not env.registry.holds(path):
        owner = f"broker {broker_id}" if cluster_id is None else f"cluster {cluster_id}"
        # Imported here, because a successful start does not need it.
        from barnabas.core.advised_commands import NAME, command

        raise StartupError(
            f"{config.log_dirs[0]} belongs to {owner}, whose state is not kept here "
            f"(no {REGISTRY_FILE}); if it is in ZooKeeper, start with zookeeper.connect, or "
            f"`{command('adopt', (NAME, config.log_dirs[0]))}` takes it over"
        )
    # Without registry listeners the broker must not wait for sessions of other processes to expire.
    serves = bool(config.barnabas_registry_listeners or config.barnabas_registry_ssl_listeners)
    return await env.registry.open(path, env.clock, executor, serves)


async def _open_zookeeper(env: Environment, config: BrokerConfig, is_kept_here: bool) -> Registry:
    connect = config.zookeeper_connect
    if is_kept_here:
        from barnabas.core.advised_commands import NAME, command

        move = command("release", (NAME, config.log_dirs[0]), ("--zookeeper", connect), "--execute")
        raise StartupError(
            f"{config.log_dirs[0]} keeps its cluster's state in {REGISTRY_FILE}, and zookeeper.connect is {connect}: "
            f"`{move}` moves it there, --embedded leaves it here"
        )
    # Imported here, because a broker with an embedded registry does not need it.
    from barnabas.broker.server.zookeeper import zookeeper_options

    return await env.open_zookeeper(zookeeper_options(config, env.dice))


async def identify(env: Environment, config: BrokerConfig, registry: Registry, logs: LogManager) -> tuple[str, int]:
    """Determine the formats that may be written, and return the ids of the cluster and the broker; updates `config`."""
    cluster_id = await bootstrap.bootstrap(registry, env.dice)
    await _write_what_kafka_reads(config, registry)
    config.broker_id = await _choose_broker_id(config, registry, logs)
    return cluster_id, config.broker_id


async def _write_what_kafka_reads(config: BrokerConfig, registry: Registry) -> None:
    """Write only formats that the Kafka version stored in the registry reads, so that it can be used again."""
    noted = await bootstrap.kafka_version(registry)
    if noted is None:
        return
    version = kafka_version(noted.name)
    contradictions = config.write_for(version)
    log.info(
        "writing formats that Kafka %s can read (%s): inter.broker.protocol.version=%s, log.message.format.version=%s",
        version.short_name,
        noted.reason,
        config.inter_broker_protocol_version,
        config.log_message_format_version,
    )
    if contradictions:
        log.warning(
            "%s: writes formats that Kafka %s cannot read, so `barnabas release` will fail",
            ", ".join(contradictions),
            version.short_name,
        )


async def _choose_broker_id(config: BrokerConfig, registry: Registry, logs: LogManager) -> int:
    if config.broker_id >= 0:
        return config.broker_id
    if logs.known_broker_id is not None:
        return logs.known_broker_id
    return await bootstrap.generate_broker_id(registry, config.reserved_broker_max_id)
