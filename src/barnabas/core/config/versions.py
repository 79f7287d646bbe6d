"""Kafka's versions, as named by `inter.broker.protocol.version`, and the formats that each reads and writes.

A version has a full name (`2.1-IV1`) or a short one (`2.1`, `0.10.2`, `2.7.2`), which means the last IV of the release.

| since | new format |
| --- | --- |
| 0.10.0 | message format 1 |
| 0.10.1 | group values of version 1 |
| 0.11.0 | message format 2 |
| 2.1 | zstd; group values of version 2; offset values of version 2 (2.1-IV0) and 3 (2.1-IV1) |
| 2.3 | group values of version 3 |

Every version reads the formats of all earlier ones.

Source: Kafka 2.7.2, kafka.api.ApiVersion, GroupMetadataManager (groupMetadataValue, offsetCommitValue), LogValidator.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from barnabas.core.config.settings import BROKER_SETTINGS
from barnabas.core.errors import ConfigError

INTER_BROKER_PROTOCOL_VERSION = "inter.broker.protocol.version"
LOG_MESSAGE_FORMAT_VERSION = "log.message.format.version"
MESSAGE_FORMAT_VERSION = "message.format.version"

_NAMES: tuple[str, ...] = BROKER_SETTINGS[INTER_BROKER_PROTOCOL_VERSION].choices or ()


class KafkaVersion(NamedTuple):
    """A version; versions compare in order of release.

    Attributes:
        rank: Its position among all versions.
        name: The full name.
    """

    rank: int
    name: str

    @property
    def short_name(self) -> str:
        """Return its release: `2.1`, `0.10.2`."""
        return self.name.partition("-")[0]

    @property
    def magic(self) -> int:
        """Return the newest message format: 0, 1 or 2."""
        return (self >= _MAGIC_1) + (self >= _MAGIC_2)

    @property
    def group_value_version(self) -> int:
        """Return the newest version of a group's value in `__consumer_offsets`."""
        return (self >= _GROUP_VALUE_1) + (self >= _GROUP_VALUE_2) + (self >= _GROUP_VALUE_3)

    @property
    def offset_value_version(self) -> int:
        """Return the newest version of an offset's value in `__consumer_offsets`."""
        return 1 + (self >= _OFFSET_VALUE_2) + (self >= _OFFSET_VALUE_3)

    @property
    def has_zstd(self) -> bool:
        return self >= _ZSTD


@lru_cache(maxsize=64)
def kafka_version(text: str) -> KafkaVersion:
    """Return the version with this name, full or short.

    Raises:
        ConfigError: No version up to 2.7 has this name.
    """
    release = ".".join(text.partition("-")[0].split(".")[: 3 if text.startswith("0.") else 2])
    for rank in range(len(_NAMES) - 1, -1, -1):
        name = _NAMES[rank]
        if name == text or ("-" not in text and name.partition("-")[0] == release):
            return KafkaVersion(rank, name)
    raise ConfigError(f"{text} is not a Kafka version from {_NAMES[0]} to {NEWEST.short_name}")


def oldest_version(can: Callable[[KafkaVersion], bool]) -> KafkaVersion:
    """Return the oldest version for which `can` is true.

    Raises:
        ConfigError: `can` is true for no version up to 2.7.
    """
    for rank, name in enumerate(_NAMES):
        version = KafkaVersion(rank, name)
        if can(version):
            return version
    raise ConfigError(f"no version of Kafka's up to {NEWEST.short_name} can do that")


def message_magic(format_version: str) -> int:
    """Return the magic of a message.format.version."""
    return kafka_version(format_version).magic


OLDEST = KafkaVersion(0, _NAMES[0])
NEWEST = KafkaVersion(len(_NAMES) - 1, _NAMES[-1])

_MAGIC_1 = kafka_version("0.10.0-IV0")
_MAGIC_2 = kafka_version("0.11.0-IV0")
_GROUP_VALUE_1 = kafka_version("0.10.1-IV0")
_GROUP_VALUE_2 = _OFFSET_VALUE_2 = _ZSTD = kafka_version("2.1-IV0")
_OFFSET_VALUE_3 = kafka_version("2.1-IV1")
_GROUP_VALUE_3 = kafka_version("2.3-IV0")
