"""Choice of the registry for the cluster's state: this process, or ZooKeeper.

Invariant: a directory with state in one of them is not started with the other.

Source: design page, registry; zookeeper.md, opening notes.
"""

from pathlib import Path

from barnabas.broker.log.manager import LogManager
from barnabas.broker.registry.embedded import REGISTRY_FILE
from barnabas.broker.server.environment import Environment
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import StartupError
from barnabas.core.executor import Executor
from barnabas.wire.registry.store import Registry


async def open_registry(env: Environment, config: BrokerConfig, logs: LogManager, executor: Executor) -> Registry:
    """Begin a session with the registry that the settings name.

    Args:
        logs: Knows the owner of the directories; locked.
        executor: For blocking work of an embedded one.

    Raises:
        StartupError: The directories' state is elsewhere, or the registry can't be reached or read.
    """
    path = Path(config.log_dirs[0]) / REGISTRY_FILE
    if config.zookeeper_connect:
        # With ZooKeeper the first directory is like any other: the broker goes on without it.
        is_kept_here = any(each.path == path.parent for each in logs.directories) and env.registry.holds(path)
        return await _open_zookeeper(env, config, is_kept_here)
    cluster_id, broker_id = logs.known_cluster_id, logs.known_broker_id
    # Kafka before 2.4 names only the broker.
    if (cluster_id is not None or broker_id is not None) and not env.registry.holds(path):
        owner = f"broker {broker_id}" if cluster_id is None else f"cluster {cluster_id}"
        # Not at the top: a start does without it.
        from barnabas.core.advised_commands import NAME, command

        raise StartupError(
            f"{config.log_dirs[0]} belongs to {owner}, whose state is not kept here "
            f"(no {REGISTRY_FILE}); if it is in ZooKeeper, start with zookeeper.connect, or "
            f"`{command('adopt', (NAME, config.log_dirs[0]))}` takes it over"
        )
    # Who hears of nobody must not wait for their ends.
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
    # Not at the top: a broker that keeps its own state starts without it.
    from barnabas.broker.server.zookeeper import zookeeper_options

    return await env.open_zookeeper(zookeeper_options(config, env.dice))
