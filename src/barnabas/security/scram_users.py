"""The SCRAM credentials of users: what stands in /config/users, and what of it is known.

A credential that is none is passed over, with one line in the log that names user and mechanism.

Source: zookeeper.md, configs; Kafka 2.7.2, CredentialProvider.
"""

import logging
from collections.abc import Mapping

from barnabas.core.errors import ConfigError
from barnabas.registry import paths
from barnabas.security.sasl.credential import ScramCredential, decode_credential
from barnabas.security.sasl.mechanism import SCRAM_SHA_256, SCRAM_SHA_512

log = logging.getLogger(__name__)


class ScramUsers:
    """Who has which credentials now. Owned by the event loop; fed by the registry's watcher."""

    def __init__(self) -> None:
        self._credentials: dict[str, dict[str, ScramCredential]] = {}

    def find(self, mechanism: str, user: str) -> ScramCredential | None:
        """The credential of a user; None: there is none."""
        return self._credentials.get(user, {}).get(mechanism)

    def of_user(self, user: str) -> Mapping[str, ScramCredential]:
        """By mechanism; empty: there is none."""
        return self._credentials.get(user, {})

    def names(self) -> list[str]:
        """All users that have one."""
        return list(self._credentials)

    def on_user_config(self, entity: str, overrides: Mapping[str, str]) -> None:
        """Take over what /config/users says of an entity.

        Args:
            entity: A user, or something else below /config/users, which has no credentials.
        """
        if "/" in entity or entity == paths.DEFAULT_ENTITY:
            return
        user = paths.desanitize(entity)
        found = {}
        for mechanism in (SCRAM_SHA_256, SCRAM_SHA_512):
            text = overrides.get(mechanism)
            if text is None:
                continue
            try:
                found[mechanism] = decode_credential(text)
            except ConfigError as error:
                log.warning("the %s credential of user %s is passed over: %s", mechanism, user, error)
        if found:
            self._credentials[user] = found
        else:
            self._credentials.pop(user, None)
