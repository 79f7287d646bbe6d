"""The claims of a token: its user, and the time in which it is valid.

    sub    the user        exp    when it ends        iat    when it was made        nbf    when it begins

Times are seconds since the epoch, fractions allowed.

Source: RFC 7519; KIP-255, KIP-768; Kafka 2.7.2, OAuthBearerValidationUtils.
"""

from collections.abc import Mapping

from barnabas.wire.security.sasl.mechanism import Identity
from barnabas.wire.security.sasl.oauthbearer import InvalidTokenError

# What is later than this (the year 9999) is no time.
_MOST_SECONDS = 253_402_300_800
# A name is kept with each connection, in metrics and by quotas.
MOST_USER_BYTES = 1024


def identity_of(claims: Mapping[str, object], user_claim: str, now_ms: int, skew_ms: int) -> Identity:
    """Return the identity that a token's claims name, if the token is valid now.

    Args:
        user_claim: The claim with the user's name.
        skew_ms: How far the issuer's clock may be off.

    Raises:
        InvalidTokenError: It does not hold, or does not say what it must; holds none of its text.
    """
    user = claims.get(user_claim)
    if not isinstance(user, str) or not user.strip():
        raise InvalidTokenError(f"its claim {user_claim} must be a user name")
    try:
        user_bytes = len(user.encode())
    except UnicodeEncodeError:
        # Half of a surrogate pair, which JSON can say and nobody can write down.
        raise InvalidTokenError(f"its claim {user_claim} is not valid text") from None
    if user_bytes > MOST_USER_BYTES:
        raise InvalidTokenError(f"its claim {user_claim} is longer than {MOST_USER_BYTES} bytes")
    ends_ms = _time_ms(claims, "exp")
    if ends_ms is None:
        raise InvalidTokenError("it has no exp claim")
    begins_ms = [each for name in ("iat", "nbf") if (each := _time_ms(claims, name)) is not None]
    if now_ms - skew_ms >= ends_ms:
        raise InvalidTokenError("it has expired")
    if any(each > now_ms + skew_ms for each in begins_ms):
        raise InvalidTokenError("it is not valid yet")
    if any(each >= ends_ms for each in begins_ms):
        raise InvalidTokenError("its exp is before its iat or nbf")
    return Identity(user, expires_ms=ends_ms)


def scopes_of(claims: Mapping[str, object], scope_claim: str) -> set[str]:
    """Return a token's scopes: a text with blanks between the items, or a list."""
    value = claims.get(scope_claim)
    items = value.split() if isinstance(value, str) else value
    return {each.strip() for each in items if isinstance(each, str)} if isinstance(items, list) else set()


def _time_ms(claims: Mapping[str, object], name: str) -> int | None:
    value = claims.get(name)
    if value is None:
        return None
    # An int may have any number of digits here, more than a float can hold; what is no number (NaN) is in no range.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST_SECONDS:
        raise InvalidTokenError(f"its claim {name} must be a time in seconds")
    return int(value * 1000)
