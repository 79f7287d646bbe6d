"""/config/<type>/<entity>: overrides; /config/changes: notifications of changed entities.

    entity          {"version":1,"config":{"cleanup.policy":"compact"}}; missing or null: no overrides
    config_change   v2 {"version":2,"entity_path":"topics/t"}, v1 {"version":1,"entity_type":"topics","entity_name":"t"}
                    (of topics and clients only); those of 0.8, plain strings, are ignored, as in Kafka

Source: zookeeper.md, configs; Kafka 2.7.2, DynamicConfigManager.
"""

from collections.abc import Mapping

from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.payload import MalformedError, dump, load, load_strictly, strings


def encode_config(overrides: Mapping[str, str]) -> bytes:
    return dump({"version": 1, "config": dict(overrides)})


def decode_config(data: bytes | None) -> dict[str, str]:
    """Return the overrides of an entity."""
    return strings(load(data).get("config"))


def decode_config_strictly(data: bytes | None) -> dict[str, str]:
    """Return the overrides of an entity; reject an invalid node instead of ignoring it.

    Raises:
        MalformedError: It is neither null nor an object of strings below `config`.
    """
    if data is None:
        return {}
    config = load_strictly(data).get("config")
    if not isinstance(config, dict):
        raise MalformedError("no object below config")
    for key, value in config.items():
        if not isinstance(value, str):
            raise MalformedError(f"{key[:40]!r} is not a string")
    return config


def encode_change(entity_path: str) -> bytes:
    """Encode a notification in version 2.

    Args:
        entity_path: Below /config, such as `topics/t`.
    """
    return dump({"version": 2, "entity_path": entity_path})


def decode_change(data: bytes | None) -> str | None:
    """Return the changed path below /config, of two elements or more; None: it names no valid entity."""
    payload = load(data)
    match payload.get("version"):
        case 2:
            entity_path = payload.get("entity_path")
        case 1 if payload.get("entity_type") in _VERSION_1_TYPES and isinstance(payload.get("entity_name"), str):
            entity_path = f"{payload['entity_type']}/{payload['entity_name']}"
        case _:
            return None
    if not isinstance(entity_path, str) or "/" not in entity_path or not paths.is_valid(paths.config(entity_path)):
        return None
    return entity_path


_VERSION_1_TYPES = (paths.TOPICS, paths.CLIENTS)
