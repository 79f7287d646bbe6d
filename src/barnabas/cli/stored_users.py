"""Users of a stopped cluster, in its registry: like `UserAdmin`, without a broker.

Brokers that authenticate to each other with SCRAM need their users in the registry when they start.
"""

from collections.abc import Sequence

from barnabas.clients.admin_users import NewCredential
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ConfigError, KafkaError
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.configs import update_config
from barnabas.wire.registry.store import NoNodeError, Registry
from barnabas.wire.registry.znodes.configs import decode_config
from barnabas.wire.security.sasl.credential import decode_credential, encode_credential
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS, ScramMechanism, make_credential


class StoredUsers:
    """Reads and writes /config/users."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def describe(self, users: Sequence[str] = ()) -> dict[str, dict[str, int]]:
        """See `UserAdmin.describe`."""
        names = [paths.sanitize(user) for user in users] or await self._all()
        described = {}
        for name in names:
            user, credentials = paths.desanitize(name), await self._credentials(name)
            if credentials:
                described[user] = credentials
            elif users:
                raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, f"user {user} has no SCRAM credentials")
        return described

    async def set(self, user: str, credentials: Sequence[NewCredential]) -> None:
        """See `UserAdmin.set`."""
        if not user:
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
        if await self._registry.exists(paths.CONFIG_CHANGES) is None:
            # No broker has started with this registry yet.
            await create_with_parents(self._registry, paths.CONFIG_CHANGES)
        new = {
            each.mechanism.name: encode_credential(
                make_credential(each.mechanism, each.salted_password, each.salt, each.iterations)
            )
            for each in credentials
        }
        await update_config(self._registry, _entity(user), lambda now: now | new)

    async def delete(self, user: str, mechanisms: Sequence[ScramMechanism]) -> None:
        """See `UserAdmin.delete`."""
        names = {mechanism.name for mechanism in mechanisms}

        def without(now: dict[str, str]) -> dict[str, str]:
            if not names <= now.keys():
                raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, f"user {user} has no credential of this mechanism")
            return {name: value for name, value in now.items() if name not in names}

        await update_config(self._registry, _entity(user), without)

    async def _all(self) -> list[str]:
        try:
            names = await self._registry.children(paths.CONFIG_USERS)
        except NoNodeError:
            return []
        return [name for name in names if name != paths.DEFAULT_ENTITY]

    async def _credentials(self, name: str) -> dict[str, int]:
        try:
            data, _ = await self._registry.get(paths.config(f"{paths.USERS}/{name}"))
        except NoNodeError:
            return {}
        config = decode_config(data)
        found = {}
        for mechanism in SCRAM_MECHANISMS:
            try:
                found[mechanism] = decode_credential(config[mechanism]).iterations
            except (KeyError, ConfigError):
                continue
        return found


def _entity(user: str) -> str:
    return f"{paths.USERS}/{paths.sanitize(user)}"
