"""Authorizes by access rules, as Kafka's AclAuthorizer does.

A decision is made once per principal, host and resource, and cached until a rule changes, because clients repeat the
same operations. The cache is limited in bytes, because clients may name any resource; a full cache is cleared.
Denials are logged at INFO and allowed operations at DEBUG, both on Kafka's own logger, in its words.
(`broker/server/log_limit.py` limits the lines per place in the code, `broker/server/log_lines.py` the length of a
name.)

Source: semantics, ACLs; Kafka 2.7.2, AclAuthorizer.
"""

import logging
import sys
from collections.abc import Collection
from typing import Final, Protocol

from barnabas.core.errors import ConfigError
from barnabas.wire.security.access_rules import Rules
from barnabas.wire.security.acls import word
from barnabas.wire.security.authorizer import ALL_OPERATIONS, NamedRequest, Operation, ResourceType
from barnabas.wire.security.principals import Principal, parse_principal

LOGGER_NAME: Final = "kafka.authorizer.logger"
log = logging.getLogger(LOGGER_NAME)

MOST_DECISION_BYTES: Final = 32 * 1024 * 1024
"""About 150,000 decisions about topics."""
LONGEST_NAME: Final = 1_000
"""Decisions about longer names are not cached: such names are rare."""
# Python's memory beside the names: for a decision, and for a principal at a host.
_DECISION_BYTES, _WHO_BYTES = 140, 1_200

_DEBUG: Final = logging.DEBUG
# Lists are indexed by the types' codes.
_TYPE_COUNT: Final = max(ResourceType) + 1


def parse_super_users(text: str) -> frozenset[Principal]:
    """Return the principals of `super.users`, separated by semicolons, as names may contain commas.

    Raises:
        ConfigError: An entry is not a principal.
    """
    try:
        return frozenset(parse_principal(part.strip()) for part in text.split(";") if part.strip())
    except ValueError as error:
        raise ConfigError(str(error)) from None


class Denied(Protocol):
    """Called on a denial; see `Authorizer.may`."""

    def __call__(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        request: NamedRequest | None,
    ) -> object: ...


def _nobody(
    principal: Principal,
    host: str,
    operation: Operation,
    resource_type: ResourceType,
    name: str,
    request: NamedRequest | None,
) -> None:
    return


class AclAuthorizer:
    """Authorizes principals by `rules`. Owned by the event loop.

    Attributes:
        rules: The current rules; call `forget` after changing them.
        on_denied: Called for each denial that is logged.
    """

    __slots__ = ("_bytes", "_decisions", "_host", "_if_no_rule", "_of_last", "_principal", "_super_users",
                 "on_denied", "rules")  # fmt: skip

    allows_everything = False

    def __init__(self, rules: Rules, super_users: Collection[Principal], allows_without_rules: bool) -> None:
        """Args:
        super_users: Principals with all permissions.
        allows_without_rules: Whether everyone has all permissions on resources without rules.
        """
        self.rules = rules
        self._super_users = frozenset(super_users)
        self._if_no_rule = ALL_OPERATIONS if allows_without_rules else 0
        # Operations as bits by name, by resource type, by principal and host.
        self._decisions: dict[tuple[Principal, str], list[dict[str, int]]] = {}
        self._bytes = 0
        # The last principal and host with their decisions: one request needs several, and a client sends many requests.
        self._principal: Principal | None = None
        self._host: str | None = None
        self._of_last: list[dict[str, int]] = []
        self.on_denied: Denied = _nobody

    def may(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        request: NamedRequest | None = None,
    ) -> bool:
        # hot path: benchmarks/users (every topic of every produce and fetch request). A list by type, so that no key of
        # type and name must be built.
        if principal is not self._principal or host is not self._host:
            self._ask_for(principal, host)
        rights = self._of_last[resource_type].get(name)
        if rights is None:
            rights = self._decide(principal, host, resource_type, name)
        if not rights >> operation & 1:
            log.info(_TEXT, *_words(principal, "Denied", operation, host, resource_type, name, request))
            self.on_denied(principal, host, operation, resource_type, name, request)
            return False
        if log.isEnabledFor(_DEBUG):
            log.debug(_TEXT, *_words(principal, "Allowed", operation, host, resource_type, name, request))
        return True

    def rights(self, principal: Principal, host: str, resource_type: ResourceType, name: str) -> int:
        if principal is not self._principal or host is not self._host:
            self._ask_for(principal, host)
        rights = self._of_last[resource_type].get(name)
        return self._decide(principal, host, resource_type, name) if rights is None else rights

    def forget(self) -> None:
        """Drop all cached decisions, because the rules changed."""
        self._decisions.clear()
        self._bytes = 0
        self._principal = self._host = None

    def _ask_for(self, principal: Principal, host: str) -> None:
        decisions = self._decisions.get((principal, host))
        if decisions is None:
            self._make_room(_WHO_BYTES + sys.getsizeof(principal.name) + sys.getsizeof(host))
            decisions = self._decisions[principal, host] = [{} for _ in range(_TYPE_COUNT)]
        self._principal, self._host = principal, host
        self._of_last = decisions

    def _make_room(self, more_bytes: int) -> None:
        if self._bytes + more_bytes > MOST_DECISION_BYTES:
            self.forget()
        self._bytes += more_bytes

    def _decide(self, principal: Principal, host: str, resource_type: ResourceType, name: str) -> int:
        if principal in self._super_users:
            rights: int | None = ALL_OPERATIONS
        else:
            rights = self.rules.rights(principal, host, resource_type, name)
        if rights is None:
            rights = self._if_no_rule
        if len(name) <= LONGEST_NAME:
            self._make_room(_DECISION_BYTES + sys.getsizeof(name))
            if self._principal is None:
                # The cache was cleared.
                self._ask_for(principal, host)
            self._of_last[resource_type][name] = rights
        return rights


_TEXT: Final = (
    "Principal = %s is %s Operation = %s from host = %s on resource = %s:LITERAL:%s for request = %s "
    "with resourceRefCount = 1"
)


def _words(
    principal: Principal,
    result: str,
    operation: Operation,
    host: str,
    resource_type: ResourceType,
    name: str,
    request: NamedRequest | None,
) -> tuple[str, ...]:
    called = request.request_name if request else ""
    return str(principal), result, word(operation), host, word(resource_type), name, called
