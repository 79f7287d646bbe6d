"""SCRAM credentials for nonexistent users, so that logins do not reveal which users exist.

A name without a user gets a salt like a real user's, always the same one, and no proof matches. The salt is derived
from the name and a secret of the cluster that only its brokers know:

    salt of a user         as Kafka's and Barnabas' tools generate it: a 130-bit number in base 36, as text
    salt of a token's id   24 bytes; real tokens use the same salt, since brokers create their credentials
    iterations             most common number of the users (`ScramUsers.usual_iterations`); the minimum for tokens

The secret only allows distinguishing decoys from users: no decoy can log in.

Source: RFC 5802, section 9 (servers should not reveal users); Kafka 2.7.2, ScramFormatter.secureRandomString.
"""

from hmac import digest

from barnabas.wire.security.sasl.credential import LEAST_ITERATIONS, USER_SALT_BITS, ScramCredential, user_salt
from barnabas.wire.security.sasl.scram import KnownUser, ScramMechanism

_TOKEN_SALT_BYTES = 24


class DecoyCredentials:
    """Derives a credential for any name."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def user(self, mechanism: ScramMechanism, name: str, iterations: int) -> KnownUser:
        """Return a user of this name who cannot log in."""
        number = int.from_bytes(self._derived(mechanism.name, name)) % (1 << USER_SALT_BITS)
        return self._nobody(mechanism, name, user_salt(number), iterations)

    def token(self, mechanism: ScramMechanism, token_id: str) -> KnownUser:
        """Return a delegation token of this id that cannot be used to log in."""
        return self._nobody(mechanism, token_id, self.token_salt(token_id), LEAST_ITERATIONS)

    def token_salt(self, token_id: str) -> bytes:
        """Return the salt of a delegation token, whether it exists or not."""
        return self._derived("tokenauth", token_id)[:_TOKEN_SALT_BYTES]

    def _nobody(self, mechanism: ScramMechanism, name: str, salt: bytes, iterations: int) -> KnownUser:
        # Has the length of a key, but no password matches it.
        key = mechanism.hmac(self._secret, name.encode())
        return KnownUser(ScramCredential(salt, key, key, iterations), None)

    def _derived(self, use: str, name: str) -> bytes:
        return digest(self._secret, f"{use}\0{name}".encode(), "sha256")
