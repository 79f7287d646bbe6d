"""The documented settings of the simple consumer.

Source: configuration documents of 0.7 and 0.8.2, consumer settings; legacy-0.7.md.
"""

from collections.abc import Mapping
from typing import Final

from barnabas.api.settings import Declared, SettingsTable

SETTINGS: Final = SettingsTable(
    "simple consumer",
    (
        Declared("client.id", "string", "", "What the broker calls the program in its log and its quotas."),
        Declared("socket.timeout.ms", "int", 30_000, "How long to wait for an answer.", least=1),
        Declared(
            "socket.receive.buffer.bytes",
            "int",
            64 * 1024,
            "What the system holds of what was received; -1: as it sees fit.",
            ("socket.buffersize",),
            least=-1,
        ),
        Declared(
            "fetch.message.max.bytes",
            "int",
            1024 * 1024,
            "How much to fetch of a partition at a time, where the program does not say.",
            ("fetch.size",),
            least=1,
            greatest=128 * 1024 * 1024,
        ),
        Declared("fetch.min.bytes", "int", 1, "How much has to be there before a fetch is answered.", least=0),
        Declared("fetch.wait.max.ms", "int", 100, "How long a fetch waits for that at the most.", least=0),
    ),
)


def overridden(config: Mapping[str, object], values: Mapping[str, object]) -> dict[str, object]:
    """Return the settings with some of them replaced, whichever of their names `config` uses.

    Args:
        config: By any of their names.
        values: By their newest names.
    """
    replaced = {name for each in SETTINGS.settings if each.name in values for name in (each.name, *each.aliases)}
    return {**{name: value for name, value in config.items() if name not in replaced}, **values}
