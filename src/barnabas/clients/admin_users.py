"""Administration of users' SCRAM credentials. The password itself is never sent.

Source: protocol guide, DescribeUserScramCredentials, AlterUserScramCredentials; KIP-554.
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.clients.admin_calls import AdminCalls, raise_for
from barnabas.wire.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.wire.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS, ScramMechanism

_NAMES = {mechanism.code: mechanism.name for mechanism in SCRAM_MECHANISMS.values()}


class NewCredential(NamedTuple):
    """A user's credential for one mechanism, derived from the password by `make`."""

    mechanism: ScramMechanism
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"NewCredential({self.mechanism.name}, iterations={self.iterations})"

    @classmethod
    def make(cls, mechanism: ScramMechanism, password: str, iterations: int, salt: bytes) -> "NewCredential":
        """Derive a credential from a password; takes milliseconds."""
        return cls(mechanism, iterations, salt, mechanism.salted_password(password.encode(), salt, iterations))


class UserAdmin(AdminCalls):
    """Administration of users with SCRAM credentials."""

    async def describe(self, users: Sequence[str] = ()) -> dict[str, dict[str, int]]:
        """Return each user's iteration count by mechanism; without names, of all users.

        Raises:
            KafkaError: RESOURCE_NOT_FOUND (a user has no credential), CLUSTER_AUTHORIZATION_FAILED, ...
        """
        request = DescribeUserScramCredentialsRequest([UserName(user) for user in users] or None)

        async def attempt() -> DescribeUserScramCredentialsResponse:
            answer = await (await self.pool.any_broker()).send(request, DescribeUserScramCredentialsResponse)
            raise_for(answer.error_code, answer.error_message or "cannot describe users")
            return answer

        answer = await self.retry(attempt)
        for result in answer.results:
            raise_for(result.error_code, result.error_message or f"cannot describe user {result.user}")
        return {
            result.user: {_NAMES.get(info.mechanism, "?"): info.iterations for info in result.credential_infos}
            for result in answer.results
        }

    async def set(self, user: str, credentials: Sequence[NewCredential]) -> None:
        """Set a user's credentials. Raises KafkaError (UNACCEPTABLE_CREDENTIAL, CLUSTER_AUTHORIZATION_FAILED, ...)."""
        upsertions = [
            ScramCredentialUpsertion(user, each.mechanism.code, each.iterations, each.salt, each.salted_password)
            for each in credentials
        ]
        await self._alter(user, AlterUserScramCredentialsRequest(upsertions=upsertions))

    async def delete(self, user: str, mechanisms: Sequence[ScramMechanism]) -> None:
        """Delete a user's credentials. Raises KafkaError (RESOURCE_NOT_FOUND, CLUSTER_AUTHORIZATION_FAILED, ...)."""
        deletions = [ScramCredentialDeletion(user, mechanism.code) for mechanism in mechanisms]
        await self._alter(user, AlterUserScramCredentialsRequest(deletions))

    async def _alter(self, user: str, request: AlterUserScramCredentialsRequest) -> None:
        async def attempt() -> None:
            channel = await self.pool.controller()
            response = await channel.send(request, AlterUserScramCredentialsResponse)
            for result in response.results:
                raise_for(result.error_code, result.error_message or f"user {user} was not changed")

        await self.retry(attempt)
