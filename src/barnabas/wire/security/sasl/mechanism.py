"""Common parts of both sides of a login: names of mechanisms, the two protocols, and login errors.

    server    answer(response) -> challenge     until `is_complete`; then `identity` is the user
              or a check                        work that is too long for an event loop and returns the challenge
    client    first() -> response, answer(challenge) -> response     until `is_complete`

Source: RFC 4422 (SASL); security page, SASL.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from barnabas.core.errors import BarnabasError

PLAIN = "PLAIN"
SCRAM_SHA_256 = "SCRAM-SHA-256"
SCRAM_SHA_512 = "SCRAM-SHA-512"
OAUTHBEARER = "OAUTHBEARER"
GSSAPI = "GSSAPI"

Check: TypeAlias = Callable[[], Callable[[], bytes]]
"""Computed in any thread; what it gives goes on with the login where that is at home: a challenge, or a LoginError."""

MECHANISMS = (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER)
"""Those that are there, as Kafka names them."""


class LoginError(BarnabasError):
    """A login failed.

    Attributes:
        is_told: Whether the other side may read the reason. Where it is not, the reason says something that only this
            side's log may (that there is no such user, say).

    It never holds a password, a token, a proof or a key.
    """

    def __init__(self, reason: str, is_told: bool = False) -> None:
        super().__init__(reason)
        self.is_told = is_told


class Identity(NamedTuple):
    """The user of a login.

    Attributes:
        name: The user.
        token_id: The delegation token of the login; empty: none.
        expires_ms: When its proof expires, in milliseconds since the epoch; None: never.
    """

    name: str
    token_id: str = ""
    expires_ms: int | None = None


class SaslServer(Protocol):
    """The broker's side of one login.

    Attributes:
        most_response_bytes: The size limit of responses from the still unknown client.
        is_complete: Whether it succeeded; no further response is expected.
        is_lost: Whether it will fail, and the challenge says so.
        identity: The user, once complete.
        known_user: The existing user whose name is used; empty if unknown.
    """

    known_user: str
    is_lost: bool
    most_response_bytes: int
    is_complete: bool
    identity: Identity

    def answer(self, response: bytes) -> bytes | Check:
        """Process the client's response and return the next challenge, or the work to compute it; never waits.

        Raises:
            LoginError: It failed.
        """
        ...


class SaslClient(Protocol):
    """The client's side of one login:

        response = client.first()
        while not client.is_complete:
            response = client.answer(challenge that the server gave for response)

    The response of the completing call is empty and is not sent.

    Attributes:
        is_complete: Whether the server has accepted it and, where the mechanism allows, proved its own identity.
    """

    is_complete: bool

    def first(self) -> bytes:
        """Return the first response; the client speaks first in all mechanisms here."""
        ...

    def answer(self, challenge: bytes) -> bytes:
        """Return the next response.

        Raises:
            LoginError: The server did not prove its identity, or sent an invalid challenge.
        """
        ...
