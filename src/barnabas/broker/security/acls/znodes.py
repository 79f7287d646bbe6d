"""/kafka-acl and /kafka-acl-extended: the rules of each pattern; and their change nodes with the changed patterns.

    /kafka-acl/<Type>/<name>                    {"version":1,"acls":[{"principal":"User:alice","permissionType":"Allow",
                                                "operation":"Read","host":"*"}]}; missing, null or empty: nothing
    /kafka-acl-extended/prefixed/<Type>/<name>  the same, for a prefixed pattern
    /kafka-acl-changes/acl_changes_<n>          TOPIC:name, a literal pattern; split at the first colon
    /kafka-acl-extended-changes/acl_changes_<n> {"version":1,"resourceType":"TOPIC","name":"n","patternType":"PREFIXED"}

Source: zookeeper.md, ACLs; Kafka 2.7.2, AclEntry.fromBytes, ZkAclStore.
"""

import re
from collections.abc import Collection

from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.payload import MalformedError, dump, load_strictly
from barnabas.wire.security.acls import (
    OPERATIONS,
    PERMISSIONS,
    RESOURCE_TYPES,
    Entry,
    Pattern,
    PatternType,
    word,
)
from barnabas.wire.security.authorizer import ResourceType
from barnabas.wire.security.principals import parse_principal

_VERSION = 1
# Characters that ZooKeeper rejects in paths.
_IMPOSSIBLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")
PATTERN_TYPES = (PatternType.LITERAL, PatternType.PREFIXED)


def type_path(pattern_type: PatternType, resource_type: ResourceType) -> str:
    """Return the parent path of all patterns with a pattern type and a resource type."""
    top = paths.PREFIXED_ACLS if pattern_type is PatternType.PREFIXED else paths.ACLS
    return paths.child(top, word(resource_type))


def path_of(pattern: Pattern) -> str:
    """Return the path of a pattern's node."""
    return paths.child(type_path(pattern.pattern_type, pattern.resource_type), pattern.name)


def has_path(pattern: Pattern) -> bool:
    """Return whether ZooKeeper can store a node of this name, which Kafka puts into a path unchanged."""
    name = pattern.name
    # differs from Kafka (acl-name-with-slash): Kafka creates it if the parent node exists, but never finds it again.
    return name != "" and "/" not in name and paths.is_valid(f"/{name}") and _IMPOSSIBLE.search(name) is None


def encode_entries(entries: Collection[Entry]) -> bytes:
    acls = [
        {
            "principal": str(entry.principal),
            "permissionType": word(entry.permission),
            "operation": word(entry.operation),
            "host": entry.host,
        }
        for entry in sorted(entries)
    ]
    return dump({"version": _VERSION, "acls": acls})


def decode_entries(data: bytes | None) -> frozenset[Entry]:
    """Decode the entries of a pattern.

    Raises:
        MalformedError: Some of the data is invalid: then all of it is rejected, because that part might be a denial.
    """
    if not data:
        return frozenset()
    payload = load_strictly(data)
    if payload.get("version") != _VERSION:
        raise MalformedError(f"version {payload.get('version')!r:.40}")
    acls = payload.get("acls")
    if not isinstance(acls, list):
        raise MalformedError("no list of acls")
    return frozenset(map(_entry, acls))


def _entry(value: object) -> Entry:
    if not isinstance(value, dict):
        raise MalformedError("an access rule is no object")
    texts = [value.get(key) for key in ("principal", "host", "operation", "permissionType")]
    principal, host, operation, permission = (_text(text) for text in texts)
    try:
        return Entry(parse_principal(principal), host, OPERATIONS[operation], PERMISSIONS[permission])
    except (KeyError, ValueError) as error:
        raise MalformedError(f"an access rule is not understood: {error!s:.100}") from None


def _text(value: object) -> str:
    # A lone surrogate cannot be encoded in a response.
    if not isinstance(value, str) or not _is_sayable(value):
        raise MalformedError("an access rule lacks a text")
    return value


def _is_sayable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def change_prefix(pattern_type: PatternType) -> str:
    """Return the path of change nodes without their numbers."""
    changes = paths.PREFIXED_ACL_CHANGES if pattern_type is PatternType.PREFIXED else paths.ACL_CHANGES
    return paths.child(changes, paths.ACL_CHANGE_PREFIX)


def encode_change(pattern: Pattern) -> bytes:
    resource_type, name, pattern_type = pattern
    if pattern_type is PatternType.LITERAL:
        return f"{resource_type.name}:{name}".encode()
    change = {"resourceType": resource_type.name, "name": name, "patternType": pattern_type.name}
    return dump({"version": _VERSION, **change})


def decode_literal_change(data: bytes | None) -> Pattern:
    """Return the pattern named by a change node below /kafka-acl-changes.

    Raises:
        MalformedError: The data names no pattern.
    """
    try:
        type_name, colon, name = (data or b"").decode().partition(":")
    except UnicodeDecodeError as error:
        raise MalformedError(f"no text: {error}") from None
    if not colon:
        raise MalformedError("no colon")
    return _changed(type_name, name, PatternType.LITERAL)


def decode_prefixed_change(data: bytes | None) -> Pattern:
    """Return the pattern named by a change node below /kafka-acl-extended-changes.

    Raises:
        MalformedError: The data names no pattern.
    """
    payload = load_strictly(data)
    if payload.get("version") != _VERSION or payload.get("patternType") != PatternType.PREFIXED.name:
        raise MalformedError("no change of a prefixed pattern in version 1")
    return _changed(_text(payload.get("resourceType")), _text(payload.get("name")), PatternType.PREFIXED)


def _changed(type_name: str, name: str, pattern_type: PatternType) -> Pattern:
    # Kafka before 2.0 wrote `Topic`, later versions write `TOPIC`.
    resource_type = _TYPES_IN_CHANGES.get(type_name.replace("_", "").lower())
    pattern = None if resource_type is None else Pattern(resource_type, name, pattern_type)
    if pattern is None or not has_path(pattern):
        raise MalformedError("no resource that access rules could be about")
    return pattern


_TYPES_IN_CHANGES = {name.lower(): each for name, each in RESOURCE_TYPES.items()}
