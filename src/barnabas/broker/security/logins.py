"""Logins on one listener: its mechanisms, their servers, and counts of successes and failures.

Source: security page, SASL; Kafka 2.7.2, SaslChannelBuilder, Selector's metrics.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from barnabas.core.executor import Executor
from barnabas.core.timers import Timers
from barnabas.wire.security.sasl.mechanism import Check, LoginError, SaslServer

log = logging.getLogger(__name__)

# Shortest session. A client's credential may have expired already, because clocks differ slightly. The session is long
# enough to log in again: clients may do that once a second, and do it after 85 % of the session.
LEAST_SESSION_MS = 1_500

# Each waiting check keeps its client's token and connection in memory.
MOST_CHECKS = 1_024

# New logins of a listener wait while this many have failed or were abandoned within the delay of a failed login.
MOST_FAILURES = 50
# Each waiting login keeps its client's first message in memory, at most 16 KiB.
MOST_WAITING = 1_024

NewServer = Callable[[], SaslServer]


@dataclass(slots=True)
class LoginCounts:
    """Counts the logins of a listener by result, since the broker's start; for Kafka's metrics.

    Attributes:
        no_reauthentication_count: Successful logins of clients that do not support reauthentication.
        expired_connection_count: Connections closed because their session had expired.
    """

    success_count: int = 0
    failure_count: int = 0
    reauthentication_success_count: int = 0
    reauthentication_failure_count: int = 0
    no_reauthentication_count: int = 0
    expired_connection_count: int = 0


class Checks:
    """Computes the slow steps of logins in a thread, in order.

    A client waits for one check at a time. So a flood of checks only delays logins, by the duration of each check.
    """

    def __init__(self, executor: Executor) -> None:
        """Args:
        executor: A single thread used for nothing else.
        """
        self._executor = executor
        self._waiting_count = 0

    def run(self, check: Check, then: Callable[[Callable[[], bytes]], object]) -> bool:
        """Compute a check, then call `then` with the continuation; return False if too many checks are waiting."""
        if self._waiting_count >= MOST_CHECKS:
            return False
        self._waiting_count += 1

        def done(go_on: Callable[[], bytes]) -> None:
            self._waiting_count -= 1
            then(go_on)

        def failed(error: BaseException) -> None:
            self._waiting_count -= 1
            log.error("cannot compute the step that a login waits for", exc_info=error)
            then(_fail)

        self._executor.run(check, done, failed)
        return True


def _fail() -> bytes:
    raise LoginError("internal error")


class LoginRateLimiter:
    """Login rate limiter: starts logins at once, or delays them while very many fail.

    The answer to a failed login is delayed, which limits failures per client. A client that disconnects during a login
    could retry at once, so abandoned logins also count. Each failure counts for the duration of that delay.
    """

    def __init__(self, call_later: Callable[[int, Callable[[], object]], object], delay_ms: Callable[[], int]) -> None:
        self._call_later = call_later
        self._delay_ms = delay_ms
        self._failure_count = 0
        self._waiting: deque[Callable[[], object]] = deque()

    def enter(self, begin: Callable[[], object]) -> bool:
        """Start a login now or later; return False if too many are waiting."""
        if self._failure_count < MOST_FAILURES and not self._waiting:
            begin()
        elif len(self._waiting) < MOST_WAITING:
            self._waiting.append(begin)
        else:
            return False
        return True

    def failed(self) -> None:
        """Count a login that failed or was abandoned."""
        self._failure_count += 1
        self._call_later(self._delay_ms(), self._forget)

    def _forget(self) -> None:
        self._failure_count -= 1
        # One per failure, so that they do not all start at once; all if no other failure is left to release them.
        for _ in range(1 if self._failure_count else len(self._waiting)):
            if self._waiting:
                self._waiting.popleft()()


class ListenerLogins:
    """The mechanisms of one listener.

    Attributes:
        mechanisms: Their names, in the order of the setting.
        checks: Shared by all listeners.
        rate_limiter: The rate limiter of this listener.
        counts: The counts of this listener.
        failure_delay_ms: Returns for how long the answer to a failed login is delayed.
    """

    def __init__(
        self,
        servers: Mapping[str, NewServer],
        max_reauth_ms: Mapping[str, int],
        failure_delay_ms: Callable[[], int],
        checks: Checks,
        timers: Timers,
    ) -> None:
        """Args:
        servers: For each mechanism, the function that starts a login.
        max_reauth_ms: For each mechanism, the lifetime of a session (connections.max.reauth.ms); 0 or negative:
            unlimited.
        """
        self._servers = dict(servers)
        self._max_reauth_ms = {name: max(0, lifetime_ms) or None for name, lifetime_ms in max_reauth_ms.items()}
        self.failure_delay_ms = failure_delay_ms
        self.checks = checks
        self.rate_limiter = LoginRateLimiter(timers.call_later, failure_delay_ms)
        self.mechanisms: Sequence[str] = tuple(servers)
        self.counts = LoginCounts()

    def new_server(self, mechanism: str) -> SaslServer:
        """Start a login with one of the mechanisms."""
        return self._servers[mechanism]()

    def session_lifetime_ms(self, mechanism: str, now_ms: int, expires_ms: int | None) -> int | None:
        """Return the lifetime of a session that begins now; None: unlimited.

        Args:
            now_ms, expires_ms: The current time, and the expiry of the client's credential, since the epoch.
        """
        lifetime_ms = self._max_reauth_ms[mechanism]
        if lifetime_ms is None or expires_ms is None:
            # With connections.max.reauth.ms=0, not even an expired token ends the session, as in Kafka.
            return lifetime_ms
        # differs from Kafka (ended-tokens): Kafka gives an unlimited session for a token that has expired by now.
        return min(lifetime_ms, max(LEAST_SESSION_MS, expires_ms - now_ms))
