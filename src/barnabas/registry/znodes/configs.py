"""/config/<type>/<entity>: overrides; /config/changes: who changed.

    entity          {"version":1,"config":{"cleanup.policy":"compact"}}; missing or null: no overrides
    config_change   v2 {"version":2,"entity_path":"topics/t"}, v1 {"version":1,"entity_type":"topics","entity_name":"t"}

Source: zookeeper.md, configs.
"""

from collections.abc import Mapping

from barnabas.registry.znodes.payload import dump, load, strings


def encode_config(overrides: Mapping[str, str]) -> bytes:
    return dump({"version": 1, "config": dict(overrides)})


def decode_config(data: bytes | None) -> dict[str, str]:
    """The overrides of an entity."""
    return strings(load(data).get("config"))


def encode_change(entity_path: str) -> bytes:
    """A notification in version 2.

    Args:
        entity_path: Below /config, such as `topics/t`.
    """
    return dump({"version": 2, "entity_path": entity_path})


def decode_change(data: bytes | None) -> str | None:
    """The path below /config of what changed; None: a notification of another kind."""
    payload = load(data)
    match payload.get("version"):
        case 2:
            entity_path = payload.get("entity_path")
            return entity_path if isinstance(entity_path, str) else None
        case 1:
            return f"{payload.get('entity_type')}/{payload.get('entity_name')}"
        case _:
            return None
