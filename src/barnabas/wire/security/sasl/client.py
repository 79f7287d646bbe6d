"""The client's side of a login, created from a JAAS entry.

    PLAIN, SCRAM    username, password; SCRAM with tokenauth=true: a delegation token's id and HMAC
    OAUTHBEARER     unsecuredLoginStringClaim_sub, ... as in Kafka: an unsigned token; or a token from elsewhere

`SaslClient` in `mechanism.py` documents the exchange.

Source: security page, SASL; Kafka 2.7.2, PlainLoginModule, ScramLoginModule, OAuthBearerUnsecuredLoginCallbackHandler.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping

from barnabas.core.errors import ConfigError
from barnabas.wire.security.jaas import JaasEntry
from barnabas.wire.security.sasl.mechanism import MECHANISMS, OAUTHBEARER, PLAIN, SaslClient
from barnabas.wire.security.sasl.oauthbearer import OAuthBearerClient
from barnabas.wire.security.sasl.plain import PlainClient
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS, ScramClient, new_nonce

_CLAIM_PREFIXES = {"unsecuredLoginStringClaim_": str, "unsecuredLoginNumberClaim_": float}
_LIST_CLAIM_PREFIX = "unsecuredLoginListClaim_"
_EXTENSION_PREFIX = "unsecuredLoginExtension_"
_DEFAULT_LIFETIME_S = 3600


def new_client(
    mechanism: str,
    entry: JaasEntry,
    random_bytes: Callable[[int], bytes],
    now_ms: int,
    token: str | None = None,
) -> SaslClient:
    """Return the client's side of one login.

    Args:
        random_bytes: Gives as many unpredictable bytes as it is asked for.
        now_ms: Milliseconds since the epoch: when a token made here begins to hold.
        token: An OAUTHBEARER token from elsewhere, instead of one that is made here.

    Raises:
        ConfigError: The entry lacks an option that the mechanism requires.
    """
    options = entry.options
    if mechanism not in MECHANISMS:
        raise ConfigError(f"sasl.mechanism={mechanism} is not supported: use one of {', '.join(MECHANISMS)}")
    if mechanism == OAUTHBEARER:
        extensions = {
            name.removeprefix(_EXTENSION_PREFIX): value
            for name, value in options.items()
            if name.startswith(_EXTENSION_PREFIX)
        }
        return OAuthBearerClient(token if token is not None else unsecured_token(options, now_ms), extensions)
    user, password = options.get("username"), options.get("password")
    if user is None or password is None:
        raise ConfigError(f"the JAAS line of {mechanism} must have username and password")
    if mechanism == PLAIN:
        return PlainClient(user, password)
    is_token = options.get("tokenauth", "").lower() == "true"
    return ScramClient(SCRAM_MECHANISMS[mechanism], user, password, new_nonce(random_bytes), is_token)


def unsecured_token(options: Mapping[str, str], now_ms: int) -> str:
    """Return an unsigned token with the claims of a JAAS entry; it proves nothing.

    Raises:
        ConfigError: `sub` is missing, or a number is invalid.
    """
    claims: dict[str, object] = {}
    principal_claim = options.get("unsecuredLoginPrincipalClaimName", "sub")
    lifetime_s = _DEFAULT_LIFETIME_S
    name = ""
    try:
        for name, value in options.items():
            for prefix, kind in _CLAIM_PREFIXES.items():
                if name.startswith(prefix):
                    claims[name.removeprefix(prefix)] = kind(value)
            if name.startswith(_LIST_CLAIM_PREFIX) and value:
                # The first character divides the items.
                claims[name.removeprefix(_LIST_CLAIM_PREFIX)] = value[1:].split(value[0])
            elif name == "unsecuredLoginLifetimeSeconds":
                lifetime_s = int(value)
    except ValueError:
        raise ConfigError(f"{name} of the JAAS line must be a number") from None
    if not claims.get(principal_claim):
        raise ConfigError(f"the JAAS line of OAUTHBEARER must have unsecuredLoginStringClaim_{principal_claim}")
    now_s = now_ms / 1000
    claims = {"iat": now_s, "exp": now_s + lifetime_s} | claims
    return f"{_part({'alg': 'none'})}.{_part(claims)}."


def _part(content: Mapping[str, object]) -> str:
    return urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).rstrip(b"=").decode()
