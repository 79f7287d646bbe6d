"""SCRAM credentials of users that do not exist, so that logins do not reveal which users exist.

A name without a user gets a salt like a user's, always the same one, and no proof fits. It is derived from the name and
a secret of the cluster, which only its brokers know:

    salt of a user         as Kafka's and Barnabas' tools make it: a number of 130 bits in base 36, as text
    salt of a token's id   24 bytes, those of a real token too: brokers make its credentials themselves
    iterations             those of most users (`ScramUsers.usual_iterations`); tokens have the least

Knowing the secret allows to tell decoys from users, and nothing else: no decoy can log in.

Source: RFC 5802, section 9 (a server should not tell); Kafka 2.7.2, ScramFormatter.secureRandomString.
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
        # As long as a key, and of nothing.
        key = mechanism.hmac(self._secret, name.encode())
        return KnownUser(ScramCredential(salt, key, key, iterations), None)

    def _derived(self, use: str, name: str) -> bytes:
        return digest(self._secret, f"{use}\0{name}".encode(), "sha256")
