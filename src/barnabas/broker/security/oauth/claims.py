"""The claims of a token: its user and its period of validity.

    sub    user        exp    expiry        iat    time of issue        nbf    start of validity

Times are seconds since the epoch, fractions allowed.

Source: RFC 7519; KIP-255, KIP-768; Kafka 2.7.2, OAuthBearerValidationUtils.
"""

from collections.abc import Mapping

from barnabas.wire.security.sasl.mechanism import Identity
from barnabas.wire.security.sasl.oauthbearer import InvalidTokenError

# Times after the year 9999 are invalid.
_MOST_SECONDS = 253_402_300_800
# User names are stored with each connection, in metrics and by quotas.
MOST_USER_BYTES = 1024


def identity_of(claims: Mapping[str, object], user_claim: str, now_ms: int, skew_ms: int) -> Identity:
    """Return the identity named by a token's claims, if the token is valid now.

    Args:
        user_claim: The claim with the user's name.
        skew_ms: The tolerated difference to the issuer's clock.

    Raises:
        InvalidTokenError: The token is invalid or lacks a required claim; the error contains none of its text.
    """
    user = claims.get(user_claim)
    if not isinstance(user, str) or not user.strip():
        raise InvalidTokenError(f"its claim {user_claim} must be a user name")
    try:
        user_bytes = len(user.encode())
    except UnicodeEncodeError:
        # A lone surrogate, which JSON can contain but UTF-8 cannot.
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
    """Return a token's scopes; the claim is a string separated by blanks, or a list."""
    value = claims.get(scope_claim)
    items = value.split() if isinstance(value, str) else value
    return {each.strip() for each in items if isinstance(each, str)} if isinstance(items, list) else set()


def _time_ms(claims: Mapping[str, object], name: str) -> int | None:
    value = claims.get(name)
    if value is None:
        return None
    # An int may have more digits than a float can represent. NaN is in no range.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST_SECONDS:
        raise InvalidTokenError(f"its claim {name} must be a time in seconds")
    return int(value * 1000)
