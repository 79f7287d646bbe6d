"""SCRAM-SHA-256 and SCRAM-SHA-512: a proof of the password, which itself is never sent nor stored.

    client-first    n,[a=authzid],n=user,r=client nonce[,tokenauth=true]
    server-first    r=client nonce + server nonce,s=salt,i=iterations
    client-final    c=base64 of the client-first's header,r=both nonces,p=proof
    server-final    v=signature

    salted password = PBKDF2(password, salt, iterations)
    stored key = H(HMAC(salted password, "Client Key"))        server key = HMAC(salted password, "Server Key")
    proof = client key XOR HMAC(stored key, auth message)      signature = HMAC(server key, auth message)

The broker keeps stored and server key: a login costs it four hashes, however many iterations there are. There is no
channel binding (as in Kafka); in names `,` is `=2C` and `=` is `=3D`.

Source: RFC 5802, RFC 7677; KIP-84, KIP-48 (`tokenauth`); Kafka 2.7.2, ScramSaslServer.
"""

import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from hashlib import new as new_hash
from hashlib import pbkdf2_hmac
from typing import NamedTuple

from barnabas.wire.security.sasl.credential import LEAST_ITERATIONS, ScramCredential
from barnabas.wire.security.sasl.mechanism import SCRAM_SHA_256, SCRAM_SHA_512, Identity, LoginError

# A server could ask for so many that the client is busy for hours.
MOST_ITERATIONS = 1_000_000
_NONCE_BYTES = 24

# A name of 1 KiB, each letter of it escaped, and a nonce.
_MOST_RESPONSE_BYTES = 4096

# Without backtracking, because the input comes from an unauthenticated client.
_NAME = r"(?:[^=,\x00]++|=2C|=3D)++"
_FIRST = re.compile(
    rf"(?P<header>n,(?:a=(?P<authzid>{_NAME}))?,)"
    rf"(?P<bare>(?:m=[^\x00,]+,)?n=(?P<name>{_NAME}),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)"
    r"(?P<extensions>(?:,[A-Za-z]+=[^\x00,]+)*))"
)
_FINAL = re.compile(
    r"(?P<without_proof>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?:,[A-Za-z]+=[^\x00,]+)*)"
    r",p=(?P<proof>[A-Za-z0-9+/=]+)"
)
_SERVER_FIRST = re.compile(
    r"(?:m=[^\x00,]+,)?r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[A-Za-z0-9+/=]*),i=(?P<iterations>[0-9]{1,9})"
    r"(?:,[A-Za-z]+=[^\x00,]+)*"
)
_TOKEN_LOGIN = ",tokenauth=true"


class ScramMechanism(NamedTuple):
    """One of the two.

    Attributes:
        code: Its number in the protocol (AlterUserScramCredentials).
        hash_name: As `hashlib` names the hash.
    """

    name: str
    code: int
    hash_name: str

    def hash(self, data: bytes) -> bytes:
        return new_hash(self.hash_name, data).digest()

    def hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self.hash_name)

    def salted_password(self, password: bytes, salt: bytes, iterations: int) -> bytes:
        """Compute the salted password; takes milliseconds: a broker never computes it on its loop."""
        return pbkdf2_hmac(self.hash_name, password, salt, iterations)


SHA_256 = ScramMechanism(SCRAM_SHA_256, 1, "sha256")
SHA_512 = ScramMechanism(SCRAM_SHA_512, 2, "sha512")
SCRAM_MECHANISMS = {each.name: each for each in (SHA_256, SHA_512)}


class KnownUser(NamedTuple):
    """The user behind a SCRAM name.

    Attributes:
        identity: The user itself; of a delegation token, its owner; None: no user, whatever the proof.
        has_expired: An expired delegation token: its login fails, and a client that proves to have it gets the reason.
    """

    credential: ScramCredential
    identity: Identity | None
    has_expired: bool = False


def make_credential(mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """Return the keys that a broker stores."""
    stored_key = mechanism.hash(mechanism.hmac(salted_password, b"Client Key"))
    return ScramCredential(salt, stored_key, mechanism.hmac(salted_password, b"Server Key"), iterations)


def new_nonce(random_bytes: Callable[[int], bytes]) -> str:
    """Return one side's part of a login's nonce.

    Args:
        random_bytes: Gives as many unpredictable bytes as it is asked for.
    """
    return _base64(random_bytes(_NONCE_BYTES))


class ScramServer:
    """See `SaslServer`."""

    __slots__ = ("_auth_message", "_binding", "_find", "_mechanism", "_nonce", "_user", "identity", "is_complete",
                 "is_lost", "known_user", "most_response_bytes")  # fmt: skip

    def __init__(
        self,
        mechanism: ScramMechanism,
        find: Callable[[str, bool], KnownUser],
        nonce: str,
    ) -> None:
        """Args:
        find: Returns the user of a name; with True, the delegation token of an id; unknown names get a dummy.
        nonce: This side's, for this login alone.
        """
        self.most_response_bytes = _MOST_RESPONSE_BYTES
        self._mechanism = mechanism
        self._find = find
        self._nonce = nonce
        self._user: KnownUser | None = None
        self._auth_message = ""
        self._binding = b""
        self.is_complete = self.is_lost = False
        self.identity = Identity("")
        self.known_user = ""

    def answer(self, response: bytes) -> bytes:
        text = _text(response)
        return self._first(text) if self._user is None else self._final(text, self._user)

    def _first(self, text: str) -> bytes:
        match = _FIRST.fullmatch(text)
        if match is None:
            raise LoginError("Invalid SCRAM client first message format")
        name = _plain_name(match["name"])
        if match["authzid"] is not None and _plain_name(match["authzid"]) != name:
            raise LoginError(
                "Authentication failed: Client requested an authorization id that is different from username", True
            )
        # differs from Kafka (unknown-users): it refuses a name that it does not know here, and so tells which it does.
        self._user = user = self._find(name, _TOKEN_LOGIN in match["extensions"])
        self.known_user = "" if user.identity is None else user.identity.name
        self._binding = match["header"].encode()
        self._nonce = match["nonce"] + self._nonce
        challenge = f"r={self._nonce},s={_base64(user.credential.salt)},i={user.credential.iterations}"
        self._auth_message = f"{match['bare']},{challenge}"
        return challenge.encode()

    def _final(self, text: str, user: KnownUser) -> bytes:
        match = _FINAL.fullmatch(text)
        if match is None:
            raise LoginError("Invalid SCRAM client final message format")
        # differs from Kafka (scram-final): it looks at neither.
        if match["nonce"] != self._nonce or _unbase64(match["binding"]) != self._binding:
            raise LoginError("Invalid nonce or header in the SCRAM client final message")
        mechanism, credential = self._mechanism, user.credential
        auth_message = f"{self._auth_message},{match['without_proof']}".encode()
        signature = mechanism.hmac(credential.stored_key, auth_message)
        client_key = _xor(signature, _unbase64(match["proof"]))
        fits = hmac.compare_digest(mechanism.hash(client_key), credential.stored_key)
        if not fits or user.identity is None:
            raise LoginError("Invalid client credentials")
        if user.has_expired:
            raise LoginError("its delegation token has expired", is_told=True)
        self.identity = user.identity
        self.is_complete = True
        return b"v=" + b64encode(mechanism.hmac(credential.server_key, auth_message))


class ScramClient:
    """See `SaslClient`. `answer` to the first challenge takes milliseconds: it computes PBKDF2."""

    __slots__ = ("_bare", "_mechanism", "_nonce", "_password", "_signature", "is_complete")

    def __init__(
        self,
        mechanism: ScramMechanism,
        user: str,
        password: str,
        nonce: str,
        is_token: bool = False,
    ) -> None:
        """Args:
        nonce: This side's, for this login alone.
        is_token: User and password are the id and the HMAC (Base64) of a delegation token.
        """
        self._mechanism = mechanism
        self._password = password.encode()
        self._nonce = nonce
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self._nonce}{_TOKEN_LOGIN if is_token else ''}"
        self._signature: bytes | None = None
        self.is_complete = False

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def answer(self, challenge: bytes) -> bytes:
        text = _text(challenge)
        if self._signature is None:
            return self._final(text)
        if not hmac.compare_digest(text.partition(",")[0].encode(), b"v=" + b64encode(self._signature)):
            raise LoginError("the server did not prove that it knows the password")
        self.is_complete = True
        return b""

    def _final(self, text: str) -> bytes:
        match = _SERVER_FIRST.fullmatch(text)
        if match is None:
            raise LoginError("the server's first SCRAM message is not one")
        nonce, iterations = match["nonce"], int(match["iterations"])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise LoginError("the server's SCRAM message answers somebody else's")
        if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
            raise LoginError(f"the server asks for {iterations} iterations; {LEAST_ITERATIONS:,} to "
                             f"{MOST_ITERATIONS:,} are possible")  # fmt: skip
        mechanism, salt = self._mechanism, _unbase64(match["salt"])
        salted_password = mechanism.salted_password(self._password, salt, iterations)
        without_proof = f"c={_base64(b'n,,')},r={nonce}"
        auth_message = f"{self._bare},{text},{without_proof}".encode()
        client_key = mechanism.hmac(salted_password, b"Client Key")
        credential = make_credential(mechanism, salted_password, salt, iterations)
        self._signature = mechanism.hmac(credential.server_key, auth_message)
        proof = _xor(mechanism.hmac(credential.stored_key, auth_message), client_key)
        return f"{without_proof},p={_base64(proof)}".encode()


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise LoginError("a SCRAM message is not valid UTF-8") from None


def _plain_name(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _unbase64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError):
        raise LoginError("a SCRAM message holds no Base64 where it should") from None


def _xor(left: bytes, right: bytes) -> bytes:
    """Return the XOR of two texts; unequal lengths give the shorter length, which is no valid key."""
    return bytes(a ^ b for a, b in zip(left, right, strict=False))
