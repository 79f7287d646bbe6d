"""What a handler is given: the services of the broker (`services.py`), the peer and its request's header."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.requests.services import Services
from barnabas.security.principals import ANONYMOUS, Principal

if TYPE_CHECKING:
    from barnabas.security.authorizer import Operation, ResourceType


def _nothing() -> None:
    return


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
