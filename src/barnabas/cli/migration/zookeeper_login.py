"""How our commands reach ZooKeeper: by the file that BARNABAS_ZOOKEEPER_CONFIG names, if it does.

It holds what `barnabas.clients.zookeeper` looks at, as the file of `--zk-tls-config-file` of Kafka's tools does. Not an
option: passwords are in it, and every command that takes --zookeeper takes it alike.
"""

import os
from typing import Final

from barnabas.clients.zookeeper import ZOOKEEPER_SETTINGS, zookeeper_options
from barnabas.core.config.properties import read_properties
from barnabas.core.dice import system_dice
from barnabas.core.errors import ConfigError
from barnabas.wire.registry.zookeeper_options import ZooKeeperOptions

VARIABLE: Final = "BARNABAS_ZOOKEEPER_CONFIG"


def command_options(connect: str) -> ZooKeeperOptions:
    """Read how a command reaches a ZooKeeper.

    Args:
        connect: As zookeeper.connect.

    Raises:
        ConfigError: The file can't be read, or what it says can't be.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return ZooKeeperOptions(connect)
    try:
        values, _ = read_properties(path)
        unknown = [name for name in values if name not in ZOOKEEPER_SETTINGS]
        if unknown:
            raise ConfigError(f"{unknown[0]} says nothing of how ZooKeeper is reached")
        return zookeeper_options(connect, values, system_dice())
    except ConfigError as error:
        raise ConfigError(f"{VARIABLE}={path}: {error}") from None
