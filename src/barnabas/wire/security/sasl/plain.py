"""PLAIN: a user and a password in the clear, to be used under TLS only.

    response    [authorization id] NUL user NUL password, UTF-8
    challenge   empty: accepted

Source: RFC 4616; Kafka 2.7.2, PlainSaslServer, whose words and order of checks these are.
"""

from collections.abc import Callable, Mapping
from hmac import compare_digest

from barnabas.wire.security.sasl.mechanism import Identity, LoginError

_NUL = "\0"
_TOKEN_COUNT = 3
# Some let tokens stand for passwords.
_MOST_RESPONSE_BYTES = 16_384


class PlainServer:
    """See `SaslServer`."""

    __slots__ = ("_verify", "identity", "is_complete", "is_lost", "known_user", "most_response_bytes")

    def __init__(self, verify: Callable[[str, str], bool]) -> None:
        """Args:
        verify: Whether a user has this password.
        """
        self.most_response_bytes = _MOST_RESPONSE_BYTES
        self._verify = verify
        self.is_complete = self.is_lost = False
        self.identity = Identity("")
        self.known_user = ""

    def answer(self, response: bytes) -> bytes:
        # As Java decodes: what is no UTF-8 is no reason to fail here, it will be no password either.
        tokens = response.decode("utf-8", "replace").split(_NUL, _TOKEN_COUNT)
        if len(tokens) != _TOKEN_COUNT:
            raise LoginError(f"Invalid SASL/PLAIN response: expected {_TOKEN_COUNT} tokens, got {len(tokens)}", True)
        authorization_id, user, password = tokens
        if not user:
            raise LoginError("Authentication failed: username not specified", True)
        if not password:
            raise LoginError("Authentication failed: password not specified", True)
        if not self._verify(user, password):
            raise LoginError("Authentication failed: Invalid username or password", True)
        if authorization_id not in ("", user):
            raise LoginError(
                "Authentication failed: Client requested an authorization id that is different from username", True
            )
        self.identity = Identity(user)
        self.is_complete = True
        return b""


class PlainClient:
    """See `SaslClient`."""

    __slots__ = ("_password", "_user", "is_complete")

    def __init__(self, user: str, password: str) -> None:
        self._user = user
        self._password = password
        self.is_complete = False

    def first(self) -> bytes:
        return f"\0{self._user}\0{self._password}".encode()

    def answer(self, challenge: bytes) -> bytes:
        if challenge:
            raise LoginError("the server answered a PLAIN login with a challenge")
        self.is_complete = True
        return b""


def verifier(passwords: Mapping[str, str]) -> Callable[[str, str], bool]:
    """Return a function that checks a user's password in a table; its duration reveals nothing about the password."""

    def verify(user: str, password: str) -> bool:
        known = passwords.get(user)
        return compare_digest((known or "").encode(), password.encode()) and known is not None

    return verify
