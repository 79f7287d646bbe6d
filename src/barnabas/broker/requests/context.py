"""One request as its handler sees it: the services of the broker (`services.py`), the peer and the header."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from barnabas.broker.quotas.bucket import Bucket
from barnabas.broker.quotas.controller_mutations import ControllerMutationQuota
from barnabas.broker.requests.services import Services
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.security.principals import ANONYMOUS, Principal

if TYPE_CHECKING:
    from barnabas.core.pending import Pending
    from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
    from barnabas.wire.security.authorizer import Operation, ResourceType


T = TypeVar("T")


def _nothing() -> None:
    return


class Login(Protocol):
    """Logs in the user of a connection and re-authenticates it; `authentication.py`."""

    def begin_again(
        self, context: "RequestContext", request: "SaslHandshakeRequest"
    ) -> "SaslHandshakeResponse | Pending[SaslHandshakeResponse] | None":
        """Begin another login in a session; return the response, or None if no login can begin now."""
        ...

    def on_connection_closed(self) -> None:
        """Clean up after the connection has closed."""
        ...


@dataclass(slots=True)
class ConnectionInfo:
    """The peer of one connection.

    Attributes:
        host: The peer's address as text.
        listener_name: The listener that accepted it; answers name that listener's endpoints.
        principal: The user that it authenticated as.
        security_protocol: The listener's (`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT`, `SASL_SSL`).
        sasl_mechanism: The mechanism of its login; empty: no SASL login.
        token_id: The delegation token of its login; empty: none.
        software: The client's name and version, from ApiVersions; empty: not sent.
        authentication: On listeners with SASL: the handler of logins and re-authentications.
    """

    host: str
    port: int
    listener_name: str
    principal: Principal = ANONYMOUS
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str = ""
    token_id: str = ""
    software: str = ""
    authentication: "Login | None" = None


class RequestContext:
    """One request as its handler sees it.

    Attributes:
        client_id: As sent; null becomes "".
        frame_bytes: The request's size; 0 if unused.
        is_large: Whether the request or its answer is so large that it is handled and encoded in slices
            (`slices.py`). A handler sets it if a small request has a large answer.
        throttle_time_ms: The client's throttle time after the answer; each exceeded quota may raise it.
        waited_for: The reason of its handler's last wait, in one word, if the API does not imply it.
    """

    __slots__ = (
        "api_version",
        "client_id",
        "connection",
        "correlation_id",
        "frame_bytes",
        "is_large",
        "services",
        "throttle_time_ms",
        "waited_for",
    )

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
        self.frame_bytes = 0
        self.is_large = False
        self.throttle_time_ms = 0
        self.waited_for = ""

    def keep_frame(self) -> "Callable[[], object]":
        """Keep the bytes of the request (records) valid after the handler's call.

        Returns:
            A callable that releases the frame. If the frame is kept already, it does nothing: the first one counts.
            Until the release, the frame counts towards the memory of received requests, which is bounded.
        """
        return _nothing

    def quota_bucket(self, kind: QuotaKind) -> Bucket | None:
        """Return the client's bucket; None: no client has a limit of that kind."""
        quotas = self.services.quotas
        if not quotas.is_enabled[kind]:
            return None
        return quotas.bucket(kind, self.connection.principal.name, self.client_id, self.services.clock.monotonic_ms())

    def controller_quota(self, first_strict_version: int) -> ControllerMutationQuota:
        """Return the quota that counts the partitions created or deleted by this request.

        Args:
            first_strict_version: From this version on, requests that exceed the quota are refused.
        """
        bucket = self.quota_bucket(QuotaKind.CONTROLLER_MUTATION)
        return ControllerMutationQuota(
            bucket, self.api_version >= first_strict_version, self.services.clock.monotonic_ms
        )

    def throttle_by(self, quota: ControllerMutationQuota) -> None:
        """Throttle the client for partitions that the request created or deleted; call it before the answer."""
        self.throttle_time_ms = quota.throttle_ms

    def timed(self, work: "Callable[[], T]") -> "Callable[[], T]":
        """Wrap work for an executor so that its time counts for the request."""
        return work

    def may_fetch(self, answer_bytes: int) -> bool:
        """Count a fetch answer; False: the client exceeds its quota and gets an answer without records."""
        return True

    def may(self, operation: "Operation", resource_type: "ResourceType", name: str) -> bool:
        """Return whether the request's principal may do this with a resource; denials are logged."""
        authorizer = self.services.authorizer
        if authorizer.allows_everything:
            return True
        connection = self.connection
        return authorizer.may(connection.principal, connection.host, operation, resource_type, name, self)

    def rights(self, resource_type: "ResourceType", name: str) -> int:
        """Return the operations that the principal may do on a resource, as bits `1 << operation`; logs nothing."""
        connection = self.connection
        return self.services.authorizer.rights(connection.principal, connection.host, resource_type, name)

    def may_unlogged(self, operation: "Operation", resource_type: "ResourceType", name: str) -> bool:
        """Return the same as `may` but log no denial; for resources that the request did not name."""
        return self.rights(resource_type, name) >> operation & 1 == 1

    def not_authorized(self) -> str:
        """Return the message of a request that is denied as a whole; Kafka names the connection and its buffers."""
        return f"Request {self.request_name} of {self.connection.principal} is not authorized."

    @property
    def request_name(self) -> str:
        """The API's name."""
        return ""
