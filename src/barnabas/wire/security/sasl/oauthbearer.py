"""OAUTHBEARER: login with a token from an external provider.

    response     n,[a=authorization id],^A auth=Bearer token [^A key=value]* ^A ^A
    challenge    empty: accepted; else JSON {"status":"invalid_token"}, which the client answers with ^A, and the login
                 fails with that JSON as the reason

Source: RFC 7628; KIP-255, KIP-342 (extensions); Kafka 2.7.2, OAuthBearerSaslServer.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from barnabas.core.errors import BarnabasError
from barnabas.wire.security.sasl.mechanism import Check, Identity, LoginError

_CONTROL_A = b"\x01"
_MOST_RESPONSE_BYTES = 16_384
_NAME = r"(?:[^=,\x00\x01]++|=2C|=3D)++"
_FIRST = re.compile(
    rf"n,(?:a=(?P<authzid>{_NAME}))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01",
)
_AUTH = re.compile(r"(?P<scheme>\w+)[ ]+(?P<token>[-_.a-zA-Z0-9]+)")


class InvalidTokenError(BarnabasError):
    """A token is invalid.

    Attributes:
        status: The status for the client, `invalid_token` or `insufficient_scope`.
        scope: The scope that it would need.
    """

    def __init__(self, reason: str, status: str = "invalid_token", scope: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.scope = scope


Judge: TypeAlias = Callable[[str], Identity | Callable[[], Identity]]
"""Says whose token it is, and until when, or gives what finds out and takes long; both raise InvalidTokenError."""


class OAuthBearerServer:
    """See `SaslServer`."""

    __slots__ = ("_failure", "_validate", "identity", "is_complete", "is_lost", "known_user", "most_response_bytes")

    def __init__(self, validate: Judge) -> None:
        self.most_response_bytes = _MOST_RESPONSE_BYTES
        self._validate = validate
        self._failure: LoginError | None = None
        self.is_complete = self.is_lost = False
        self.identity = Identity("")
        self.known_user = ""

    def answer(self, response: bytes) -> bytes | Check:
        if self._failure is not None:
            # The client has read why, and may say no more than that it did.
            raise self._failure
        authorization_id, token = _parse(response)
        try:
            judged = self._validate(token)
        except InvalidTokenError as error:
            return self._refuse(error)
        if isinstance(judged, Identity):
            return self._accept(authorization_id, judged)

        def check() -> Callable[[], bytes]:
            try:
                identity = judged()
            except InvalidTokenError as error:
                return partial(self._refuse, error)
            return partial(self._accept, authorization_id, identity)

        return check

    def _refuse(self, error: InvalidTokenError) -> bytes:
        told = {"status": error.status} | ({"scope": error.scope} if error.scope else {})
        text = json.dumps(told, separators=(",", ":"))
        self._failure = LoginError(text, True)
        self._failure.__cause__ = error
        self.is_lost = True
        return text.encode()

    def _accept(self, authorization_id: str, identity: Identity) -> bytes:
        if authorization_id not in ("", identity.name):
            raise LoginError(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is different "
                f"from the token's principal name ({identity.name})",
                True,
            )
        self.identity = identity
        self.is_complete = True
        return b""


class OAuthBearerClient:
    """See `SaslClient`."""

    __slots__ = ("_extensions", "_token", "is_complete")

    def __init__(self, token: str, extensions: Mapping[str, str] | None = None) -> None:
        """Args:
        extensions: Extensions for the server (`logicalCluster`, ...).
        """
        self._token = token
        self._extensions = dict(extensions or {})
        self.is_complete = False

    def first(self) -> bytes:
        pairs = {"auth": f"Bearer {self._token}"} | self._extensions
        return f"n,,\x01{''.join(f'{name}={value}{chr(1)}' for name, value in pairs.items())}\x01".encode()

    def answer(self, challenge: bytes) -> bytes:
        if challenge:
            # Why not comes in the clear with the server's next answer.
            return _CONTROL_A
        self.is_complete = True
        return b""


def _parse(response: bytes) -> tuple[str, str]:
    """Return the authorization id (may be empty) and the token."""
    what = "Invalid OAUTHBEARER client first message"
    try:
        match = _FIRST.fullmatch(response.decode())
    except UnicodeDecodeError:
        match = None
    if match is None:
        raise LoginError(what)
    pairs = dict(pair.split("=", 1) for pair in match["pairs"].split("\x01") if pair)
    if "auth" not in pairs:
        raise LoginError(f"{what}: 'auth' not specified")
    auth = _AUTH.fullmatch(pairs["auth"])
    if auth is None:
        raise LoginError(f"{what}: invalid 'auth' format")
    if auth["scheme"].lower() != "bearer":
        raise LoginError(f"{what}: its scheme is not bearer")
    return (match["authzid"] or "").replace("=2C", ",").replace("=3D", "="), auth["token"]
