"""Unsigned tokens, whose claims are not verified. For tests, on listeners that enable them.

    base64url({"alg":"none"}) . base64url({"sub":"alice","exp":...}) .

Options of the listener's JAAS line: unsecuredValidatorPrincipalClaimName, unsecuredValidatorScopeClaimName,
unsecuredValidatorRequiredScope, unsecuredValidatorAllowableClockSkewMs.

Source: RFC 7519, section 6; KIP-255; Kafka 2.7.2, OAuthBearerUnsecuredValidatorCallbackHandler.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping

from barnabas.broker.security.oauth.claims import identity_of, scopes_of
from barnabas.core.errors import ConfigError
from barnabas.wire.security.sasl.mechanism import Identity
from barnabas.wire.security.sasl.oauthbearer import InvalidTokenError

_PREFIX = "unsecuredValidator"
_PART_COUNT = 3


def is_asked_for(options: Mapping[str, str]) -> bool:
    """Return whether a JAAS entry enables unsigned tokens: it has any option for them."""
    return any(name.startswith(("unsecuredValidator", "unsecuredLogin")) for name in options)


class UnsecuredTokens:
    """Accepts tokens without verifying them."""

    def __init__(self, options: Mapping[str, str], now_ms: Callable[[], int]) -> None:
        """Args:
        options: The options of the JAAS line.

        Raises:
            ConfigError: The clock skew is not a number.
        """
        self._now_ms = now_ms
        self._user_claim = options.get(f"{_PREFIX}PrincipalClaimName", "").strip() or "sub"
        self._scope_claim = options.get(f"{_PREFIX}ScopeClaimName", "").strip() or "scope"
        self._required = options.get(f"{_PREFIX}RequiredScope", "").split()
        skew = options.get(f"{_PREFIX}AllowableClockSkewMs", "").strip() or "0"
        if not skew.isdecimal() or len(skew) > 9:
            raise ConfigError(f"{_PREFIX}AllowableClockSkewMs must be a number of milliseconds")
        self._skew_ms = int(skew)

    def identify(self, token: str) -> Identity:
        """Return the identity that the token claims, without verifying it. Raises InvalidTokenError."""
        parts = token.split(".")
        if len(parts) != _PART_COUNT:
            raise InvalidTokenError("it does not have three parts")
        header, claims = _content(parts[0]), _content(parts[1])
        if header.get("alg") != "none" or parts[2]:
            raise InvalidTokenError("it is signed, but this listener only accepts unsigned tokens")
        identity = identity_of(claims, self._user_claim, self._now_ms(), self._skew_ms)
        if not set(self._required) <= scopes_of(claims, self._scope_claim):
            raise InvalidTokenError("it lacks a required scope", "insufficient_scope", " ".join(self._required))
        return identity


def _content(part: str) -> Mapping[str, object]:
    try:
        content = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        raise InvalidTokenError("a part of it is not JSON") from None
    if not isinstance(content, dict):
        raise InvalidTokenError("a part of it is not a JSON object")
    return content
