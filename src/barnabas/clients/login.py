"""SASL logins of a client's connection: the first one, and the renewals before sessions expire.

    SaslHandshake v1 ─► SaslAuthenticate, as often as the mechanism asks ─► session.lifetime ─► again

Invariant: from the handshake to the last response, no other request is sent on the connection; other requests wait.

Source: protocol guide, SASL; KIP-152, KIP-368; Kafka 2.7.2, SaslClientAuthenticator.
"""

import asyncio
from typing import TYPE_CHECKING, Protocol, TypeVar

from barnabas.clients.security import ClientSecurity
from barnabas.core.clock import Clock
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.wire.protocol.wire import Message
from barnabas.wire.security.sasl.mechanism import LoginError

if TYPE_CHECKING:
    from random import Random

R = TypeVar("R", bound=Message)

# The client logs in again after 85 to 95 % of the session, like Java's clients.
_LEAST_PART, _MORE_PART = 0.85, 0.1


class Asks(Protocol):
    """Sends one request after another."""

    async def ask(self, request: Message, answer: type[R], *, max_version: int | None = None) -> R: ...


class Login:
    """The login of a connection, and its expiry."""

    __slots__ = ("_again_at_s", "_clock", "_dice", "_lock", "_security", "_where")

    def __init__(self, security: ClientSecurity, dice: "Random", clock: Clock, where: str) -> None:
        """Args:
        where: The broker, for errors.
        """
        self._security = security
        self._dice = dice
        self._clock = clock
        self._where = where
        self._lock = asyncio.Lock()
        self._again_at_s: float | None = None

    @property
    def is_due(self) -> bool:
        """Return whether requests must wait for `renew`."""
        if self._lock.locked():
            return True
        return self._again_at_s is not None and asyncio.get_running_loop().time() >= self._again_at_s

    async def renew(self, channel: Asks) -> None:
        """Log in again, unless another caller just did.

        Raises:
            KafkaError: As `begin`.
        """
        async with self._lock:
            if self._again_at_s is not None and asyncio.get_running_loop().time() >= self._again_at_s:
                await self.begin(channel)

    async def begin(self, channel: Asks) -> None:
        """Log in.

        Raises:
            KafkaError: SASL_AUTHENTICATION_FAILED, UNSUPPORTED_SASL_MECHANISM, or the connection broke.
        """
        started_s = asyncio.get_running_loop().time()
        lifetime_ms = await log_in(channel, self._security, self._dice, self._clock.now_ms(), self._where)
        self._again_at_s = None
        if lifetime_ms > 0:
            part = _LEAST_PART + _MORE_PART * self._dice.random()
            self._again_at_s = started_s + lifetime_ms / 1000 * part


async def log_in(channel: Asks, security: ClientSecurity, dice: "Random", now_ms: int, where: str) -> int:
    """Log in on a connection.

    Returns:
        Session lifetime in milliseconds; 0: until the connection closes.

    Raises:
        KafkaError: As `Login.begin`.
    """
    client = security.new_login(dice.randbytes, now_ms)
    assert client is not None
    agreed = await channel.ask(SaslHandshakeRequest(security.mechanism), SaslHandshakeResponse, max_version=1)
    if agreed.error_code:
        mechanisms = ", ".join(agreed.mechanisms)
        reason = f"its mechanisms are {mechanisms}" if mechanisms else "SASL is not enabled on that listener"
        raise KafkaError(ErrorCode(agreed.error_code), f"{where} does not support {security.mechanism}: {reason}")
    response = client.first()
    while True:
        got = await channel.ask(SaslAuthenticateRequest(response), SaslAuthenticateResponse, max_version=1)
        if got.error_code:
            raise KafkaError(ErrorCode(got.error_code), f"{where} refuses the login: {got.error_message}")
        try:
            response = client.answer(got.auth_bytes)
        except LoginError as error:
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, f"{where} is not who it claims: {error}") from None
        if client.is_complete:
            return got.session_lifetime_ms
