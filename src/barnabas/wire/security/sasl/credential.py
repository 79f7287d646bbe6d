"""Stored SCRAM credentials of users, and their form in the registry.

    "SCRAM-SHA-256": "salt=<Base64>,stored_key=<Base64>,server_key=<Base64>,iterations=4096"

The fields may come in any order.

Source: RFC 5802, section 3; zookeeper.md, configs; Kafka 2.7.2, ScramCredentialUtils, ScramFormatter.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import NamedTuple

from barnabas.core.errors import ConfigError

LEAST_ITERATIONS = 4096
"""The minimum of RFC 7677: a credential with fewer iterations allows no login."""

USER_SALT_BITS = 130
"""How long the numbers are that salts of users are made of, by Kafka's tools too."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_FIELDS = frozenset(["salt", "stored_key", "server_key", "iterations"])


class ScramCredential(NamedTuple):
    """The keys by which a broker verifies a user's password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"


def encode_credential(credential: ScramCredential) -> str:
    """Return a credential's form in the registry."""
    return (
        f"salt={b64encode(credential.salt).decode()},stored_key={b64encode(credential.stored_key).decode()},"
        f"server_key={b64encode(credential.server_key).decode()},iterations={credential.iterations}"
    )


def decode_credential(text: str) -> ScramCredential:
    """Parse a credential.

    Raises:
        ConfigError: The text is invalid; the error contains none of it.
    """
    fields = dict(item.split("=", 1) for item in text.split(",") if "=" in item)
    if fields.keys() != _FIELDS or text.count(",") != len(_FIELDS) - 1:
        raise ConfigError("a SCRAM credential has salt, stored_key, server_key and iterations")
    try:
        salt, stored_key, server_key = (
            b64decode(fields[name], validate=True) for name in ("salt", "stored_key", "server_key")
        )
        iterations = int(fields["iterations"])
    except ValueError:
        raise ConfigError("a SCRAM credential holds Base64 and a number") from None
    # Kafka accepts an empty salt.
    if not (stored_key and server_key and 0 < iterations < 1 << 31):
        raise ConfigError("a SCRAM credential has a part that is empty or out of range")
    return ScramCredential(salt, stored_key, server_key, iterations)


def new_user_salt(random_bits: Callable[[int], int]) -> bytes:
    """Return a salt for a user.

    Args:
        random_bits: Gives a number of as many unpredictable bits as it is asked for.
    """
    return user_salt(random_bits(USER_SALT_BITS))


def user_salt(number: int) -> bytes:
    """Return a number in the form of salts of Kafka's tools."""
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits.encode() or b"0"
