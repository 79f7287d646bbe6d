"""Signed OAUTHBEARER tokens, verified with the identity provider's public keys (JWKS).

A token names its key by `kid`; with a single key it need not. Symmetric keys (`oct`) are not public keys and are
ignored: everyone who can read them could create tokens.

Source: RFC 7515, 7517, 7519; KIP-768.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from barnabas.broker.security.oauth.claims import identity_of
from barnabas.core.errors import ConfigError
from barnabas.wire.security.sasl.mechanism import Identity
from barnabas.wire.security.sasl.oauthbearer import InvalidTokenError

_ALGORITHMS = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
_NO_TOKEN = (ValueError, TypeError, RecursionError)


class Key(NamedTuple):
    """A public key and its allowed algorithms."""

    key: Any
    algorithms: Collection[str]


def parse_keys(document: bytes) -> dict[str, Key]:
    """Return the public keys of a JWKS document, by `kid` (empty for a key without one).

    Raises:
        ConfigError: The document is invalid, or contains no key for signatures.
    """
    from jwt import PyJWK  # imports cryptography: only needed for signed tokens
    from jwt.exceptions import PyJWTError

    try:
        content = json.loads(document)
        described = content["keys"]
        each_described = [each for each in described if isinstance(each, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError('it is no JWKS document: {"keys": [...]}') from None
    keys: dict[str, Key] = {}
    for each in each_described:
        allowed = _ALGORITHMS.get(str(each.get("kty")), ())
        algorithm = each.get("alg")
        if algorithm is not None:
            allowed = tuple(name for name in allowed if name == algorithm)
        if not allowed or each.get("use", "sig") != "sig":
            continue
        try:
            keys[str(each.get("kid", ""))] = Key(PyJWK(each, algorithm or _default_algorithm(each)).key, allowed)
        except (PyJWTError, ValueError, TypeError, KeyError):
            continue
    if not keys:
        raise ConfigError("it holds no public key that could sign")
    return keys


class SignedTokens:
    """Validates tokens by their signatures.

    Attributes:
        keys: The current public keys, by `kid`.
        on_unknown_key: Called if a token names an unknown key: there may be new ones.
    """

    def __init__(
        self,
        now_ms: Callable[[], int],
        user_claim: str,
        audiences: Collection[str],
        issuer: str | None,
        skew_ms: int,
        on_unknown_key: Callable[[], object],
    ) -> None:
        """Args:
        audiences: The token must be for one of them; empty: any audience.
        issuer: The required issuer; None: any.
        """
        self._now_ms = now_ms
        self._user_claim = user_claim
        self._audiences = list(audiences)
        self._issuer = issuer
        self._skew_ms = skew_ms
        self.on_unknown_key = on_unknown_key
        self.keys: dict[str, Key] = {}

    def judge(self, token: str) -> Callable[[], Identity]:
        """Return a function that verifies a token's signature and returns its identity; it may run in any thread.

        Raises:
            InvalidTokenError: The token is invalid; the returned function raises it as well.
        """
        try:
            header = json.loads(_decoded(token.partition(".")[0]))
        except _NO_TOKEN:
            raise InvalidTokenError("it is malformed") from None
        if not isinstance(header, dict):
            raise InvalidTokenError("it is malformed")
        key, algorithm = self._key_of(header), header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in key.algorithms:
            raise InvalidTokenError("its algorithm is not one of its key")
        now_ms = self._now_ms()
        return lambda: self._identity(token, key, algorithm, now_ms)

    def _identity(self, token: str, key: Key, algorithm: str, now_ms: int) -> Identity:
        import jwt

        try:
            # The library parses a token character by character before it verifies the signature, up to a millisecond.
            # So only tokens with a valid signature are passed to it.
            signed, _, signature = token.rpartition(".")
            if not jwt.get_algorithm_by_name(algorithm).verify(signed.encode(), key.key, _decoded(signature)):
                raise InvalidTokenError("its signature is invalid")
            claims = jwt.decode(
                token,
                key.key,
                algorithms=list(key.algorithms),
                audience=self._audiences or None,
                issuer=self._issuer,
                # `identity_of` checks the times: the library uses a clock of its own.
                options={
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "verify_sub": False,
                    "verify_jti": False,
                    "verify_aud": bool(self._audiences),
                },
            )
        except jwt.PyJWTError as error:
            # Only the type: the text may quote the token.
            raise InvalidTokenError(type(error).__name__) from None
        except _NO_TOKEN:
            raise InvalidTokenError("it is malformed") from None
        return identity_of(claims, self._user_claim, now_ms, self._skew_ms)

    def _key_of(self, header: dict[str, object]) -> Key:
        kid = header.get("kid", "")
        if not kid and len(self.keys) == 1:
            return next(iter(self.keys.values()))
        key = self.keys.get(kid) if isinstance(kid, str) else None
        if key is None:
            self.on_unknown_key()
            raise InvalidTokenError("it is signed with an unknown key")
        return key


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _default_algorithm(described: dict[str, object]) -> str | None:
    """Return the algorithm implied by the key type, for a key without `alg`."""
    return "RS256" if described.get("kty") == "RSA" else None
