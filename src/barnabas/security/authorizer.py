"""What a principal may do with a resource.

Source: security page, authorization and ACLs; `AclOperation` and `ResourceType` of Kafka's clients (the codes).
"""

from enum import IntEnum
from typing import Protocol

from barnabas.security.principals import Principal


class Operation(IntEnum):
    """What a request does with a resource; the protocol's codes."""

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
    """The kinds of resources that access rules name; the protocol's codes."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6


class Authorizer(Protocol):
    """Decides what principals may do.

    Attributes:
        allows_everything: There are no rules, and there will be none: no need to ask for each of many partitions.
    """

    allows_everything: bool

    def may(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        """Whether a principal that comes from `host` may do something with a resource; never waits."""
        ...


class AllowAll:
    """Allows everything: there are no access rules."""

    __slots__ = ()

    allows_everything = True

    def may(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        return True
