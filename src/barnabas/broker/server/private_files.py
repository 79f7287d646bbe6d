"""Finds files with a broker's secrets that other users of the machine can read.

Files that the broker creates are accessible to its own user only (the umask is set in `main.py`); existing files keep
their mode, be it Kafka's or an administrator's.
"""

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path

from barnabas.broker.registry.embedded import REGISTRY_FILE
from barnabas.core.config import BrokerConfig
from barnabas.core.config.settings import BROKER_SETTINGS, name_for_any


def exposed_secrets(config: BrokerConfig, settings_file: str | None) -> list[Path]:
    """Return the files with secrets of a broker that every user of the machine can read or change.

    Args:
        settings_file: The file of `config`, if any.
    """
    return [path for path in _files_with_secrets(config, settings_file) if _is_open_to_all(path)]


def _files_with_secrets(config: BrokerConfig, settings_file: str | None) -> Iterator[Path]:
    for directory in config.log_dirs:
        for suffix in ("", "-wal", "-journal"):
            yield Path(directory, REGISTRY_FILE + suffix)
    keystores = {str(value) for _, value in config.everywhere("ssl.keystore.location")}
    for location in (*sorted(keystores), config.zookeeper_ssl_keystore_location, config.barnabas_jaas_config_file):
        if location:
            yield Path(location)
    if settings_file is not None and any(_is_secret(name) for name in config.explicit):
        yield Path(settings_file)


def _is_secret(name: str) -> bool:
    setting = BROKER_SETTINGS.get(name) or BROKER_SETTINGS.get(name_for_any(name))
    return setting is not None and setting.is_sensitive


def _is_open_to_all(path: Path) -> bool:
    # A missing or inaccessible file is reported where it is used.
    with contextlib.suppress(OSError):
        path = path.resolve(strict=True)
        can_come_near = all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)
        return can_come_near and bool(path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH))
    return False
