"""ZooKeeper client settings of commands, from the file named by BARNABAS_ZOOKEEPER_CONFIG.

The file has the settings of `barnabas.clients.zookeeper.settings`, like the file of `--zk-tls-config-file` of Kafka's
tools. An environment variable names it, not an option, because all commands with --zookeeper share the file.
"""

import os
from typing import Final

from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.clients.zookeeper.settings import ZOOKEEPER_SETTINGS, zookeeper_options
from barnabas.core.config.properties import read_properties
from barnabas.core.dice import system_dice
from barnabas.core.errors import ConfigError

VARIABLE: Final = "BARNABAS_ZOOKEEPER_CONFIG"


def command_options(connect: str) -> ZooKeeperOptions:
    """Read the ZooKeeper client settings of a command.

    Args:
        connect: Address as in zookeeper.connect.

    Raises:
        ConfigError: The file can't be read, or a setting is invalid.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return ZooKeeperOptions(connect)
    try:
        values, _ = read_properties(path)
        unknown = [name for name in values if name not in ZOOKEEPER_SETTINGS]
        if unknown:
            raise ConfigError(f"{unknown[0]} is not a setting of the ZooKeeper client")
        return zookeeper_options(connect, values, system_dice())
    except ConfigError as error:
        raise ConfigError(f"{VARIABLE}={path}: {error}") from None
