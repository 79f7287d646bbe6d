"""Creates, deletes and describes SCRAM credentials of users.

A credential is a setting of the user in the registry, stored with the user's quotas. The client computes the salted
password, and the broker computes the two keys that it stores; the broker never receives a password.

The changes of one user in a request succeed or fail together, with one result.

Source: semantics, SCRAM; KIP-554; Kafka 2.7.2, kafka.server.AdminManager (also the error texts).
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.security.scram_users import ScramUsers
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.registry import paths
from barnabas.wire.registry.configs import update_config
from barnabas.wire.registry.store import Registry
from barnabas.wire.security.sasl.credential import LEAST_ITERATIONS, ScramCredential, encode_credential
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS, ScramMechanism, make_credential

MOST_ITERATIONS = 16_384
# Users that are changed before the event loop runs other work; they share a commit.
_USERS_PER_TURN = 50

_BY_CODE = {mechanism.code: mechanism for mechanism in SCRAM_MECHANISMS.values()}


class Upsertion(NamedTuple):
    """A credential to set; `mechanism` is the protocol's code."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


class Deletion(NamedTuple):
    """A credential to delete; `mechanism` is the protocol's code."""

    user: str
    mechanism: int


Change = Upsertion | Deletion


class Result(NamedTuple):
    """The result of one user's changes, or of a query for one user; a success has no message."""

    error_code: ErrorCode = ErrorCode.NONE
    message: str = ""
    credentials: Mapping[ScramMechanism, ScramCredential] = {}


class ScramAdmin:
    """Changes and describes credentials. Owned by the event loop."""

    def __init__(self, registry: Registry, watcher: ConfigWatcher, users: ScramUsers) -> None:
        self._registry = registry
        self._watcher = watcher
        self._users = users

    async def alter(self, changes: Sequence[Change]) -> dict[str, Result]:
        """Change the credentials of users; complete when this broker uses them.

        Returns:
            The result of each user; failures first.
        """
        results = await _refused(changes)
        by_user: dict[str, list[Change]] = {}
        async for change in in_time_slices(changes):
            if change.user not in results:
                by_user.setdefault(change.user, []).append(change)
        done: dict[str, Result] = {}
        users = list(by_user)
        for start in range(0, len(users), _USERS_PER_TURN):
            some = users[start : start + _USERS_PER_TURN]
            altered = await asyncio.gather(*(self._alter_one(user, by_user[user]) for user in some))
            for user, result in zip(some, altered, strict=True):
                (results if result.error_code else done)[user] = result
            await asyncio.sleep(0)
        if done:
            await self._watcher.catch_up()
        return results | done

    async def describe(self, users: Sequence[str] | None) -> dict[str, Result]:
        """Describe users' credentials.

        Args:
            users: The users; None or empty: all users with credentials.
        """
        await self._watcher.catch_up()
        if not users:
            return {user: self._described(user) for user in sorted(self._users.names())}
        times_named = Counter(users)
        results: dict[str, Result] = {}
        async for user in in_time_slices(users):
            if not user:
                results[user] = Result(ErrorCode.RESOURCE_NOT_FOUND, "Username must not be empty")
            elif times_named[user] > 1:
                results[user] = Result(
                    ErrorCode.DUPLICATE_RESOURCE,
                    f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}",
                )
            else:
                results[user] = self._described(user)
        return results

    def _described(self, user: str) -> Result:
        found = self._users.of_user(user)
        if not found:
            return Result(
                ErrorCode.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {user}"
            )
        credentials = {mechanism: found[name] for name, mechanism in SCRAM_MECHANISMS.items() if name in found}
        return Result(credentials=credentials)

    async def _alter_one(self, user: str, changes: Sequence[Change]) -> Result:
        def altered(now: dict[str, str]) -> dict[str, str]:
            after = dict(now)
            for change in changes:
                mechanism = _BY_CODE[change.mechanism]
                if isinstance(change, Deletion):
                    if mechanism.name not in now:
                        raise KafkaError(
                            ErrorCode.RESOURCE_NOT_FOUND,
                            "Attempt to delete a user credential that does not exist",
                        )
                    del after[mechanism.name]
                elif not change.salted_password:
                    # As in Kafka, whose HMAC refuses an empty key.
                    raise KafkaError(
                        ErrorCode.UNKNOWN_SERVER_ERROR,
                        "The server experienced an unexpected error when processing the request.",
                    )
                else:
                    credential = make_credential(mechanism, change.salted_password, change.salt, change.iterations)
                    after[mechanism.name] = encode_credential(credential)
            return after

        try:
            await update_config(self._registry, f"{paths.USERS}/{paths.sanitize(user)}", altered)
        except KafkaError as error:
            return Result(error.code, error.message)
        return Result()


async def _refused(changes: Iterable[Change]) -> dict[str, Result]:
    """Return the users whose changes are invalid regardless of existing credentials."""
    refused: dict[str, Result] = {}
    deletions_first = sorted(changes, key=lambda change: isinstance(change, Upsertion))
    async for change in in_time_slices(deletions_first):
        result = _obstacle(change)
        if result is not None:
            refused[change.user] = result
    valid = [change async for change in in_time_slices(changes) if change.user not in refused]
    named: set[tuple[str, int]] = set()
    async for change in in_time_slices(valid):
        if (change.user, change.mechanism) in named:
            refused[change.user] = Result(
                ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
            )
        named.add((change.user, change.mechanism))
    return refused


def _obstacle(change: Change) -> Result | None:
    if not change.user:
        return Result(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if change.mechanism not in _BY_CODE:
        return Result(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, Upsertion):
        if change.iterations > MOST_ITERATIONS:
            return Result(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
        if change.iterations < LEAST_ITERATIONS:
            return Result(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    return None
