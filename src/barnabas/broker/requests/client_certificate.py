"""Determines the principal of a client certificate, once, on the connection's first frame.

Source: security page, authorization (ssl.principal.mapping.rules); Kafka 2.7.2, DefaultKafkaPrincipalBuilder.
"""

from barnabas.broker.net.connection import Connection, FrameHandler
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.core.errors import ProtocolError
from barnabas.wire.security.principals import USER, Principal
from barnabas.wire.security.tls.distinguished_name import subject
from barnabas.wire.security.tls.principal_mapping import PrincipalMapping


class ClientCertificate:
    """The handler of a connection's first frame; see `FrameHandler`."""

    __slots__ = ("_connection", "_handler", "_info", "_mapping")

    def __init__(
        self, connection: Connection, info: ConnectionInfo, mapping: PrincipalMapping, handler: FrameHandler
    ) -> None:
        """Args:
        info: Receives the principal; a client without a certificate stays anonymous.
        handler: The handler of this frame and all later ones.
        """
        self._connection = connection
        self._info = info
        self._mapping = mapping
        self._handler = handler

    def on_frame(self, frame: memoryview, now_ns: int) -> None:
        certificate = self._connection.peer_certificate()
        if certificate is not None:
            try:
                name = subject(certificate)
            except ValueError:
                raise ProtocolError("the subject of its certificate is not a distinguished name") from None
            user = self._mapping.user(name)
            if user is None:
                raise ProtocolError(f"no rule of ssl.principal.mapping.rules matches {name!r}")
            self._info.principal = Principal(USER, user)
        self._connection.handler = self._handler
        self._handler.on_frame(frame, now_ns)

    def on_closed(self) -> None:
        self._handler.on_closed()
