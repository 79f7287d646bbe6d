"""What a handler is given: the services of the broker, the peer and its request's header."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.core.error_code import ErrorCode
from barnabas.security.principals import ANONYMOUS, Principal

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.administration.producer_ids import ProducerIds
    from barnabas.administration.topics import TopicAdmin
    from barnabas.cluster.image import ClusterView
    from barnabas.core.clock import Clock
    from barnabas.core.config import BrokerConfig
    from barnabas.core.executor import Executor
    from barnabas.core.pending import Spawner
    from barnabas.core.purgatory import Purgatory
    from barnabas.core.timers import Timers
    from barnabas.groups.coordinator import GroupCoordinator
    from barnabas.log.disk.cold_reads import ColdReads
    from barnabas.registry.store import Registry
    from barnabas.replicas.manager import ReplicaManager
    from barnabas.requests.slices import Slices
    from barnabas.security.authorizer import Authorizer, Operation, ResourceType


def _nothing() -> None:
    return


@dataclass(slots=True)
class Services:
    """The parts of the broker that handlers call into; built once by the composition root.

    Attributes:
        offered: API key, lowest and highest version of all that is served.
        slices: Where requests go on that are too large for one turn of the loop.
        cold_reads: Reads what is not in the page cache; without it the event loop waits for the disk.
    """

    config: "BrokerConfig"
    clock: "Clock"
    timers: "Timers"
    spawner: "Spawner"
    executor: "Executor"
    cluster: "ClusterView"
    replicas: "ReplicaManager"
    fetches: "Purgatory"
    groups: "GroupCoordinator"
    topics: "TopicAdmin"
    producer_ids: "ProducerIds"
    registry: "Registry"
    authorizer: "Authorizer"
    offered: list[tuple[int, int, int]]
    slices: "Slices"
    cold_reads: "ColdReads | None" = None

    def absence_of(self, topic_partition: tuple[str, int]) -> ErrorCode:
        """What a client is told of a partition that is not hosted here: to look for its leader, if there is one."""
        error_code = self.replicas.absence_of(topic_partition)
        is_known = self.cluster.image.partition(*topic_partition) is not None
        if error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and is_known:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return error_code


@dataclass(slots=True)
class ConnectionInfo:
    """The peer of one connection.

    Attributes:
        host: The peer's address as text.
        listener_name: The listener that it came in through; answers name that listener's endpoints.
        principal: The user that it authenticated as.
    """

    host: str
    port: int
    listener_name: str
    principal: Principal = ANONYMOUS


class RequestContext:
    """What a handler knows of one request.

    Attributes:
        client_id: As sent; a null one is "".
        is_large: Whether it names so much, or its answer does, that it is not handled and encoded at one stroke
            (`slices.py`). A handler whose answer is large though its request is small says so.
        throttle_time_ms: How long a quota holds this client after its answer; whoever finds one broken raises it.
    """

    __slots__ = ("api_version", "client_id", "connection", "correlation_id", "is_large", "services", "throttle_time_ms")

    def __init__(
        self,
        services: Services,
        connection: ConnectionInfo,
        client_id: str,
        api_version: int,
        correlation_id: int,
    ) -> None:
        self.services = services
        self.connection = connection
        self.client_id = client_id
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.is_large = False
        self.throttle_time_ms = 0

    def keep_frame(self) -> "Callable[[], object]":
        """Let what the request brought as bytes (records) stay as it is after the handler's call.

        Returns:
            To be called when it is not needed any more; if asked again, that does nothing: the first one counts. Until
            then the memory counts as received, which bounds it.
        """
        return _nothing

    def may(self, operation: "Operation", resource_type: "ResourceType", name: str) -> bool:
        """Whether the request's principal may do this with a resource."""
        connection = self.connection
        return self.services.authorizer.may(connection.principal, connection.host, operation, resource_type, name)
