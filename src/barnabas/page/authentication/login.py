"""Logins, which the cluster itself verifies on the user's own connections."""

import asyncio
import math
from typing import Final

from barnabas.clients.security import ClientSecurity
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.page.authentication.guesses import Guesses
from barnabas.page.cluster import PATIENCE_MS, Cluster
from barnabas.page.settings import Settings
from barnabas.page.view import reason

# The number of logins verified at the same time.
_MOST_TRIES: Final = 8
_LONGEST: Final = 1_024


class LoginRefusedError(Exception):
    """A login failed; has the reason and the HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Logins:
    """Verifies logins against clusters."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._guesses = Guesses()
        self._tries = asyncio.Semaphore(_MOST_TRIES)

    async def log_in(self, name: str, mechanism: str, user: str, password: str, address: str) -> Cluster:
        """Return a cluster with this user's connections, which the caller must close.

        Args:
            name: The name of a cluster.
            address: The client's address.

        Raises:
            LoginRefusedError: The login failed, or cannot be verified now.
        """
        if name not in self._settings.clusters or mechanism not in self._settings.mechanisms:
            raise LoginRefusedError(400, "The cluster or the mechanism does not exist.")
        if not user or not password or max(len(user), len(password)) > _LONGEST:
            raise LoginRefusedError(400, "Type a user and a password.")
        loop = asyncio.get_running_loop()
        wait_s = self._guesses.wait_s(address, user, loop.time())
        if wait_s > 0:
            raise LoginRefusedError(429, f"Too many wrong passwords: wait {math.ceil(wait_s)} s.")
        self._guesses.begin(address, user)
        is_right = False
        try:
            async with self._tries:
                cluster = await self._try(name, mechanism, user, password)
            is_right = True
        finally:
            self._guesses.end(address, user, loop.time(), is_right=is_right)
        return cluster

    async def _try(self, name: str, mechanism: str, user: str, password: str) -> Cluster:
        base = self._settings.security
        # Imported here, because it is needed only with logins.
        from barnabas.wire.security.jaas import JaasEntry

        login = JaasEntry("", {"username": user, "password": password})
        security = ClientSecurity(None if base is None else base.tls, mechanism, login)
        cluster = Cluster(name, self._settings.clusters[name], user, security)
        try:
            async with asyncio.timeout(PATIENCE_MS / 1_000):
                await cluster.pool.any_broker()
        except TimeoutError:
            await cluster.close()
            raise LoginRefusedError(503, "The cluster does not answer.") from None
        except BarnabasError as error:
            await cluster.close()
            if isinstance(error, KafkaError) and error.code is ErrorCode.SASL_AUTHENTICATION_FAILED:
                raise LoginRefusedError(401, "The user or the password is wrong.") from None
            raise LoginRefusedError(503, f"The cluster is not reachable: {reason(error)}") from None
        except asyncio.CancelledError:
            await cluster.close()
            raise
        return cluster
