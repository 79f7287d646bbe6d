"""Authorization of principals for operations on resources.

Source: security page, authorization and ACLs; `AclOperation` and `ResourceType` of Kafka's clients (the codes).
"""

from enum import IntEnum
from typing import Protocol

from barnabas.wire.security.principals import Principal


class Operation(IntEnum):
    """An operation on a resource; the protocol's codes.

    ANY is for filters and ALL for access rules; no request does either.
    """

    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class ResourceType(IntEnum):
    """The kinds of resources that access rules name; the protocol's codes. ANY is for filters alone."""

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6


CLUSTER = "kafka-cluster"
"""The name of the cluster in access rules."""
ALL_OPERATIONS = sum(1 << each for each in Operation if each not in (Operation.ANY, Operation.ALL))
"""Every operation, as bits `1 << operation`."""


def _bits(*operations: Operation) -> int:
    return sum(1 << each for each in operations)


OPERATIONS_OF = {
    ResourceType.TOPIC: _bits(
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: _bits(Operation.READ, Operation.DELETE, Operation.DESCRIBE),
    ResourceType.CLUSTER: _bits(
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: _bits(Operation.WRITE, Operation.DESCRIBE),
    ResourceType.DELEGATION_TOKEN: _bits(Operation.DESCRIBE),
}
"""The operations on each kind of resource, as bits."""


class NamedRequest(Protocol):
    """A request that needs a right, for the log."""

    @property
    def request_name(self) -> str:
        """Return the name of the request's API."""
        ...


class Authorizer(Protocol):
    """Authorizes principals.

    Attributes:
        allows_everything: There are no rules and will be none, so callers need not ask for each partition.
    """

    allows_everything: bool

    def may(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        request: NamedRequest | None = None,
    ) -> bool:
        """Return whether a principal from `host` may perform an operation on a resource; never waits.

        Args:
            request: The request; only the log needs its name.
        """
        ...

    def rights(self, principal: Principal, host: str, resource_type: ResourceType, name: str) -> int:
        """Return all rights on a resource, as bits `1 << operation`; nothing is logged."""
        ...


class AllowAll:
    """Allows everything: there are no access rules."""

    __slots__ = ()

    allows_everything = True

    def may(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        request: NamedRequest | None = None,
    ) -> bool:
        return True

    def rights(self, principal: Principal, host: str, resource_type: ResourceType, name: str) -> int:
        return ALL_OPERATIONS
