"""One delegation token, its encoding in the registry, and its operations. Pure.

    /delegation_token/tokens/<id>    {"version":1,"owner":"User%3Aalice","renewers":["User%3Abob"],"issueTimestamp":1,
                                      "maxTimestamp":2,"expiryTimestamp":2,"tokenId":"..."}

The secret of a token is its HMAC, HmacSHA512(delegation.token.master.key, id), in Base64. It is not stored: brokers
compute it from the master key. Clients log in with SCRAM and `tokenauth=true`, with id and secret as user and password.

Source: zookeeper.md, delegation tokens; semantics; KIP-48; Kafka 2.7.2, kafka.server.DelegationTokenManager.
"""

import hmac
from base64 import b64encode
from collections.abc import Collection, Set
from typing import NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import MOST_TIMESTAMP_MS
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.payload import MalformedError, dump, load_strictly
from barnabas.wire.security.principals import Principal, parse_principal


class Token(NamedTuple):
    """A delegation token: its owner, renewers, and times of issue, latest expiry and expiry, in ms since the epoch."""

    token_id: str
    owner: Principal
    renewers: tuple[Principal, ...]
    issue_ms: int
    max_ms: int
    expiry_ms: int

    def is_of(self, principal: Principal) -> bool:
        """Return whether a principal may renew and expire it."""
        return principal == self.owner or principal in self.renewers

    def is_of_any(self, principals: Set[Principal]) -> bool:
        """Return whether one of these principals may renew and expire it."""
        return self.owner in principals or not principals.isdisjoint(self.renewers)

    def has_expired(self, now_ms: int) -> bool:
        return self.max_ms < now_ms or self.expiry_ms < now_ms


class TokenLimits(NamedTuple):
    """delegation.token.max.lifetime.ms and delegation.token.expiry.time.ms."""

    max_lifetime_ms: int
    expiry_time_ms: int


def secret_of(master_key: str, token_id: str) -> bytes:
    """Return a token's secret, an HMAC."""
    return hmac.digest(master_key.encode(), token_id.encode(), "sha512")


def password_of(secret: bytes) -> str:
    """Return the password that a client logs in with."""
    return b64encode(secret).decode()


def new_token(
    token_id: str,
    owner: Principal,
    renewers: Collection[Principal],
    max_lifetime_ms: int,
    now_ms: int,
    limits: TokenLimits,
) -> Token:
    """Return a new token, valid from now on.

    Args:
        max_lifetime_ms: The lifetime that the owner requests; 0 or less: the maximum.
    """
    most_ms = limits.max_lifetime_ms
    lifetime_ms = most_ms if max_lifetime_ms <= 0 else min(max_lifetime_ms, most_ms)
    # differs from Kafka (token-lifetime-overflow): in Kafka this sum and those with the expiry may overflow.
    max_ms = min(now_ms + lifetime_ms, MOST_TIMESTAMP_MS)
    return Token(token_id, owner, tuple(renewers), now_ms, max_ms, min(max_ms, now_ms + limits.expiry_time_ms))


def renewed(token: Token, principal: Principal, period_ms: int, now_ms: int, limits: TokenLimits) -> Token:
    """Return the token with an extended expiry.

    Args:
        period_ms: From now on; negative: the default period.

    Raises:
        KafkaError: The token is not the principal's, or has expired.
    """
    _check(token, principal, now_ms)
    period_ms = limits.expiry_time_ms if period_ms < 0 else period_ms
    return token._replace(expiry_ms=min(token.max_ms, now_ms + period_ms))


def ended(token: Token, principal: Principal, period_ms: int, now_ms: int) -> Token | None:
    """Return the token with another expiry; None: it expires now.

    Args:
        period_ms: From now on; negative: at once.

    Raises:
        KafkaError: The token is not the principal's, or has expired.
    """
    _check(token, principal, now_ms)
    return None if period_ms < 0 else token._replace(expiry_ms=min(token.max_ms, now_ms + period_ms))


def _check(token: Token, principal: Principal, now_ms: int) -> None:
    if not token.is_of(principal):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
    if token.has_expired(now_ms):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)


def encode_token(token: Token) -> bytes:
    return dump(
        {
            "version": 1,
            "owner": paths.sanitize(str(token.owner)),
            "renewers": [paths.sanitize(str(each)) for each in token.renewers],
            "issueTimestamp": token.issue_ms,
            "maxTimestamp": token.max_ms,
            "expiryTimestamp": token.expiry_ms,
            "tokenId": token.token_id,
        }
    )


def decode_token(data: bytes | None) -> Token:
    """Decode the token in a node.

    Raises:
        MalformedError: The data is not a valid token.
    """
    payload = load_strictly(data)
    token_id, renewers = payload.get("tokenId"), payload.get("renewers")
    if not isinstance(token_id, str) or not token_id or not isinstance(renewers, list):
        raise MalformedError("a token has a tokenId and renewers")
    times = [payload.get(name) for name in ("issueTimestamp", "maxTimestamp", "expiryTimestamp")]
    issue_ms, max_ms, expiry_ms = (
        each if isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 1 << 63 else -1 for each in times
    )
    if min(issue_ms, max_ms, expiry_ms) < 0:
        raise MalformedError("a token has three times")
    return Token(
        token_id,
        _principal(payload.get("owner")),
        tuple(_principal(each) for each in renewers),
        issue_ms,
        max_ms,
        expiry_ms,
    )


def _principal(text: object) -> Principal:
    try:
        # As Kafka: type and name may be empty.
        return parse_principal(paths.desanitize(text) if isinstance(text, str) else "")
    except ValueError as error:
        raise MalformedError(str(error)) from None
