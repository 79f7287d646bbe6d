"""The SCRAM credentials of users: the contents of /config/users, decoded.

A malformed credential is ignored; one log line names user and mechanism. A credential with too few iterations is logged
as well: it is stored, but cannot be used to log in.

Source: zookeeper.md, configs; Kafka 2.7.2, CredentialProvider.
"""

import logging
from collections import Counter
from collections.abc import Mapping

from barnabas.core.errors import ConfigError
from barnabas.wire.registry import paths
from barnabas.wire.security.sasl.credential import LEAST_ITERATIONS, ScramCredential, decode_credential
from barnabas.wire.security.sasl.mechanism import SCRAM_SHA_256, SCRAM_SHA_512

_MECHANISMS = (SCRAM_SHA_256, SCRAM_SHA_512)

log = logging.getLogger(__name__)


class ScramUsers:
    """The current SCRAM credentials of all users. Owned by the event loop; updated by the registry's watcher."""

    def __init__(self) -> None:
        self._credentials: dict[str, dict[str, ScramCredential]] = {}
        # Number of users per number of iterations; without zero entries.
        self._iterations = {mechanism: Counter[int]() for mechanism in _MECHANISMS}

    def find(self, mechanism: str, user: str) -> ScramCredential | None:
        """Return a user's credential for logins; None if the user has none."""
        credential = self._credentials.get(user, {}).get(mechanism)
        return None if credential is None or credential.iterations < LEAST_ITERATIONS else credential

    def usual_iterations(self, mechanism: str) -> int:
        """Return the most common number of iterations; equal on every broker."""
        counts = self._iterations[mechanism]
        return max(counts, key=lambda each: (counts[each], each), default=LEAST_ITERATIONS)

    def of_user(self, user: str) -> Mapping[str, ScramCredential]:
        """Return a user's credentials by mechanism; may be empty."""
        return self._credentials.get(user, {})

    def names(self) -> list[str]:
        """Return all users that have a credential."""
        return list(self._credentials)

    def on_user_config(self, entity: str, overrides: Mapping[str, str]) -> None:
        """Apply the settings of an entity below /config/users.

        Args:
            entity: A user, or something else below /config/users, which has no credentials.
        """
        if "/" in entity or entity == paths.DEFAULT_ENTITY:
            return
        user = paths.desanitize(entity)
        found = {}
        for mechanism in _MECHANISMS:
            text = overrides.get(mechanism)
            if text is None:
                continue
            try:
                found[mechanism] = credential = decode_credential(text)
                if credential.iterations < LEAST_ITERATIONS:
                    raise ConfigError(f"it has {credential.iterations} iterations, the minimum is {LEAST_ITERATIONS}")
            except ConfigError as error:
                log.warning("%s credential of user %s ignored: %s", mechanism, user, error)
        before = self._credentials.pop(user, {})
        if found:
            self._credentials[user] = found
        for credentials, change in ((before, -1), (found, 1)):
            for mechanism, credential in credentials.items():
                if credential.iterations >= LEAST_ITERATIONS:
                    self._count(self._iterations[mechanism], credential.iterations, change)

    @staticmethod
    def _count(counts: Counter[int], iterations: int, change: int) -> None:
        counts[iterations] += change
        if not counts[iterations]:
            del counts[iterations]
