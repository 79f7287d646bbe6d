"""SASL DIGEST-MD5 in ZooKeeper's variant: a broker proves its password without sending it. Pure.

    client   nothing
    server   realm="zk-sasl-md5",nonce="...",charset=utf-8,algorithm=md5-sess
    client   charset=utf-8,username="u",realm="...",nonce="...",nc=00000001,cnonce="...",
             digest-uri="zookeeper/zk-sasl-md5",maxbuf=65536,response=<32 hex digits>,qop=auth
    server   rspauth=<32 hex digits>

kazoo does the rest of the login. It normally uses a library for this part, which Barnabas does not need otherwise.

Source: RFC 2831; ZooKeeper 3.5, SecurityUtils (the host's name is a constant).
"""

import hashlib
import hmac
import re

_DIRECTIVE = re.compile(r'\s*([A-Za-z0-9-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^,\s]*))\s*(?:,|$)')
_COUNT, _QOP = "00000001", "auth"


class DigestError(Exception):
    """The server's challenge is invalid, or does not prove that the server knows the password."""


class DigestMd5:
    """One exchange, from the client's side.

    Attributes:
        complete: The server proved that it knows the password, too.
    """

    def __init__(self, username: str, password: str, uri: str, cnonce: str) -> None:
        """Args:
        uri: Service and host, `zookeeper/zk-sasl-md5`.
        cnonce: A random text, different for each login.
        """
        self.complete = False
        self._username = username
        self._password = password
        self._uri = uri
        self._cnonce = cnonce
        self._expected = ""

    def answer(self, challenge: bytes | None) -> bytes:
        """Return the next message to send; empty when the login is complete.

        Args:
            challenge: The server's message; None at the beginning.

        Raises:
            DigestError: The challenge is invalid.
        """
        if challenge is None:
            return b""
        said = _directives(challenge)
        if self._expected:
            if not hmac.compare_digest(said.get("rspauth", "").encode(), self._expected.encode()):
                raise DigestError("the server does not know the password")
            self.complete = True
            return b""
        if not said.get("nonce") or said.get("algorithm") != "md5-sess":
            raise DigestError("the server's challenge is not valid for DIGEST-MD5")
        if _QOP not in said.get("qop", _QOP).split(","):
            raise DigestError("the server wants more than authentication")
        realm, nonce, cnonce = said.get("realm", ""), said["nonce"], self._cnonce
        secret = _md5(f"{self._username}:{realm}:{self._password}".encode())
        session = _md5(secret + f":{nonce}:{cnonce}".encode()).hex()

        def digest(method: str) -> str:
            call = _md5(f"{method}:{self._uri}".encode()).hex()
            return _md5(f"{session}:{nonce}:{_COUNT}:{cnonce}:{_QOP}:{call}".encode()).hex()

        self._expected = digest("")
        return (
            f"charset=utf-8,username={_quoted(self._username)},realm={_quoted(realm)},nonce={_quoted(nonce)},"
            f"nc={_COUNT},cnonce={_quoted(cnonce)},digest-uri={_quoted(self._uri)},maxbuf=65536,"
            f"response={digest('AUTHENTICATE')},qop={_QOP}"
        ).encode()


def _directives(text: bytes) -> dict[str, str]:
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        raise DigestError("the server's challenge is not text") from None
    found = {}
    for match in _DIRECTIVE.finditer(decoded):
        name, quoted, word = match.groups()
        found[name.lower()] = word if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return found


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()
