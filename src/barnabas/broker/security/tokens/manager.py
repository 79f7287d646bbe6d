"""All delegation tokens of the cluster: creates, changes and lists them, and finds the token of a login.

    /delegation_token/tokens/<id>                     the token
    /delegation_token/token_changes/token_change_<n>  the id of a created, renewed or expired token

Every broker keeps all tokens in memory, with the SCRAM credentials of their secrets (computed in an executor, some
milliseconds each). Notifications report changes. The controller removes expired tokens.

Invariants:

- A token is valid on this broker before its creation is answered.
- If notifications may have been missed, everything is read again.
- An expired token cannot be used to log in, even before it is removed.

Source: see `token.py`; Kafka 2.7.2, DelegationTokenManager, ZkNodeChangeNotificationListener.
"""

import logging
from base64 import urlsafe_b64encode
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.registry.change_notifications import NOTIFICATION_LIFETIME_MS, Changes
from barnabas.broker.security.tokens.token import (
    Token,
    TokenLimits,
    decode_token,
    encode_token,
    ended,
    new_token,
    password_of,
    renewed,
    secret_of,
)
from barnabas.core.clock import Clock
from barnabas.core.dice import new_uuid
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.executor import Executor, submit
from barnabas.core.pending import Spawner
from barnabas.core.timers import Timers
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import (
    CreateOp,
    DeleteOp,
    NodeExistsError,
    NoNodeError,
    Op,
    Registry,
    SetOp,
)
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.security.principals import Principal
from barnabas.wire.security.sasl.credential import LEAST_ITERATIONS, ScramCredential
from barnabas.wire.security.sasl.mechanism import Identity
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS, KnownUser, make_credential

if TYPE_CHECKING:
    from random import Random

log = logging.getLogger(__name__)

MOST_OF_ONE = 1_000
"""Maximum per owner; with `MOST_RENEWERS_CHARACTERS` of renewers' names each, about 30 MB."""
MOST_RENEWERS_CHARACTERS = 10_000
MOST_CHANGES = 1_000
"""Maximum of the changes that a user makes on this broker while a notification stays, 15 minutes; see `_count_change`.

At each change all brokers list all notifications. Deleting notifications earlier is no alternative: a Kafka broker that
was disconnected meanwhile would miss changes, because it does not read all tokens again.
"""


class TokenManager:
    """This broker's copy of all tokens. Owned by the event loop."""

    def __init__(
        self,
        registry: Registry,
        master_key: str,
        limits: TokenLimits,
        clock: Clock,
        timers: Timers,
        spawner: Spawner,
        executor: Executor,
        dice: "Random",
        salt_of: Callable[[str], bytes],
    ) -> None:
        """Args:
        master_key: delegation.token.master.key.
        executor: Computes the credentials.
        salt_of: Returns the salt for a token id, whether the token exists or not.
        """
        self._salt_of = salt_of
        self._registry = registry
        self._master_key = master_key
        self._limits = limits
        self._clock = clock
        self._executor = executor
        self._dice = dice
        self._tokens: dict[str, Token] = {}
        self._credentials: dict[str, dict[str, ScramCredential]] = {}
        self._ids: dict[bytes, str] = {}
        # The changes counted by `_count_change`: when, and by whom. The oldest first.
        self._recent_changes: deque[tuple[int, Principal]] = deque()
        self._changes = Changes(
            registry,
            clock,
            timers,
            spawner,
            paths.DELEGATION_TOKEN_CHANGES,
            paths.DELEGATION_TOKEN_CHANGE_PREFIX,
            self._read_changed,
            self._read_all,
        )

    async def start(self) -> None:
        """Read all tokens, and watch for changes."""
        for path in (paths.DELEGATION_TOKENS, paths.DELEGATION_TOKEN_CHANGES):
            for each in (*paths.ancestors(path), path):
                try:
                    await self._registry.create(each)
                except NodeExistsError:
                    continue
        await self._changes.start()
        await self._read_all()

    # --- logins

    def find(self, mechanism: str, token_id: str) -> KnownUser | None:
        """Return the user of a token, even an expired one; None if the token does not exist."""
        token = self._tokens.get(token_id)
        if token is None or token_id not in self._credentials:
            return None
        identity = Identity(token.owner.name, token_id, token.expiry_ms)
        # differs from Kafka (expired-tokens): Kafka accepts an expired token until it is removed.
        has_expired = token.has_expired(self._clock.now_ms())
        return KnownUser(self._credentials[token_id][mechanism], identity, has_expired)

    # --- requests

    async def create(self, owner: Principal, renewers: Collection[Principal], max_lifetime_ms: int) -> Token:
        """Create a token, which is valid when this returns.

        Raises:
            KafkaError: POLICY_VIOLATION: the owner has too many tokens, names too many renewers, or makes too many
                changes.
        """
        # differs from Kafka (delegation-token-count): in Kafka only memory limits the number of a user's tokens.
        count = sum(token.owner == owner for token in self._tokens.values())
        if count >= MOST_OF_ONE or sum(len(str(each)) for each in renewers) > MOST_RENEWERS_CHARACTERS:
            raise KafkaError(ErrorCode.POLICY_VIOLATION)
        self._count_change(owner)
        token_id = urlsafe_b64encode(new_uuid(self._dice)).decode().rstrip("=")
        token = new_token(token_id, owner, renewers, max_lifetime_ms, self._clock.now_ms(), self._limits)
        await self._registry.multi([CreateOp(paths.delegation_token(token_id), encode_token(token)), _note(token_id)])
        await self._take([token])
        return token

    async def renew(self, principal: Principal, secret: bytes, period_ms: int) -> int:
        """Extend a token's lifetime, and return its new expiry.

        Raises:
            KafkaError: The token does not exist, is not the principal's, or has expired. POLICY_VIOLATION: the
                principal makes too many changes.
        """
        token = renewed(self._of(secret), principal, period_ms, self._clock.now_ms(), self._limits)
        self._count_change(principal)
        await self._change(token)
        return token.expiry_ms

    async def expire(self, principal: Principal, secret: bytes, period_ms: int) -> int:
        """Change a token's expiry or remove it, and return the expiry.

        Raises:
            KafkaError: The token does not exist, is not the principal's, or has expired. POLICY_VIOLATION: the
                principal makes too many changes; a removal is always allowed.
        """
        now_ms = self._clock.now_ms()
        before = self._of(secret)
        token = ended(before, principal, period_ms, now_ms)
        if token is None:
            await self._remove(before.token_id)
            return now_ms
        self._count_change(principal)
        await self._change(token)
        return token.expiry_ms

    def tokens(self) -> list[Token]:
        """Return all tokens, oldest first."""
        return sorted(self._tokens.values(), key=lambda token: (token.issue_ms, token.token_id))

    def secret(self, token: Token) -> bytes:
        """Compute the secret of a token."""
        return secret_of(self._master_key, token.token_id)

    async def remove_expired(self) -> None:
        """Remove expired tokens; a task of the controller."""
        now_ms = self._clock.now_ms()
        for token in list(self._tokens.values()):
            if token.has_expired(now_ms):
                log.info("delegation token %s of %s has expired", token.token_id, token.owner)
                await self._remove(token.token_id)

    def _of(self, secret: bytes) -> Token:
        token_id = self._ids.get(secret)
        if token_id is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return self._tokens[token_id]

    def _count_change(self, principal: Principal) -> None:
        """Count a creation or a new expiry. Removals need no limit: there are not more of them than of creations.

        Raises:
            KafkaError: POLICY_VIOLATION: the principal has made too many changes.
        """
        now_ms, changes = self._clock.monotonic_ms(), self._recent_changes
        while changes and now_ms - changes[0][0] > NOTIFICATION_LIFETIME_MS:
            changes.popleft()
        # differs from Kafka (delegation-token-changes): Kafka allows any number of changes.
        if sum(each == principal for _, each in changes) >= MOST_CHANGES:
            raise KafkaError(ErrorCode.POLICY_VIOLATION)
        changes.append((now_ms, principal))

    async def _change(self, token: Token) -> None:
        try:
            await self._registry.multi(
                [SetOp(paths.delegation_token(token.token_id), encode_token(token)), _note(token.token_id)]
            )
        except NoNodeError:
            self._forget(token.token_id)
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND) from None
        self._tokens[token.token_id] = token

    async def _remove(self, token_id: str) -> None:
        try:
            await self._registry.multi([DeleteOp(paths.delegation_token(token_id)), _note(token_id)])
        except NoNodeError:
            # Another broker was faster.
            pass
        self._forget(token_id)

    # --- changes by other brokers

    async def _read_changed(self, notifications: Sequence[tuple[str, bytes | None]]) -> None:
        await self._read(dict.fromkeys((data or b"").decode("utf-8", "replace") for _, data in notifications))

    async def _read_all(self) -> None:
        everything = set(await self._registry.children(paths.DELEGATION_TOKENS))
        for token_id in self._tokens.keys() - everything:
            self._forget(token_id)
        await self._read(sorted(everything))

    async def _read(self, token_ids: Iterable[str]) -> None:
        tokens = []
        for token_id in token_ids:
            path = paths.delegation_token(token_id)
            if not paths.is_valid(path):
                log.warning("delegation token change ignored: %.40r is not a valid token id", token_id)
                continue
            try:
                data, _ = await self._registry.get(path)
                token = decode_token(data)
                if token.token_id != token_id:
                    raise MalformedError("it has the id of another token")
                tokens.append(token)
            except NoNodeError:
                self._forget(token_id)
            except MalformedError as error:
                log.warning("delegation token %s is malformed: ignored: %s", token_id, error)
        await self._take(tokens)

    async def _take(self, tokens: Collection[Token]) -> None:
        """Add or replace tokens; computes missing credentials."""
        unknown = [token for token in tokens if token.token_id not in self._credentials]
        salts = [self._salt_of(token.token_id) for token in unknown]
        secrets = [self.secret(token) for token in unknown]

        def make() -> list[dict[str, ScramCredential]]:
            return [_credentials(secret, salt) for secret, salt in zip(secrets, salts, strict=True)]

        made = await submit(self._executor, make).future() if unknown else []
        for token, secret, credentials in zip(unknown, secrets, made, strict=True):
            self._credentials[token.token_id] = credentials
            self._ids[secret] = token.token_id
        for token in tokens:
            self._tokens[token.token_id] = token

    def _forget(self, token_id: str) -> None:
        token = self._tokens.pop(token_id, None)
        self._credentials.pop(token_id, None)
        if token is not None:
            self._ids.pop(self.secret(token), None)


def _credentials(secret: bytes, salt: bytes) -> dict[str, ScramCredential]:
    password = password_of(secret).encode()
    return {
        name: make_credential(
            mechanism, mechanism.salted_password(password, salt, LEAST_ITERATIONS), salt, LEAST_ITERATIONS
        )
        for name, mechanism in SCRAM_MECHANISMS.items()
    }


def _note(token_id: str) -> Op:
    path = paths.child(paths.DELEGATION_TOKEN_CHANGES, paths.DELEGATION_TOKEN_CHANGE_PREFIX)
    return CreateOp(path, token_id.encode(), is_sequence=True)
