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

# What a client proved itself with may be over already, as clocks may be off by a little. It gets the shortest session,
# long enough to log in again from: that may be done once a second, and clients do it when 85 % of a session is over.
LEAST_SESSION_MS = 1_500

# Each holds its client's token and connection.
MOST_CHECKS = 1_024

# While so many logins of a listener failed, or were given up, within the delay of a failed one, others wait.
MOST_FAILURES = 50
# Each holds what its client said first, 16 KiB at the most.
MOST_WAITING = 1_024

NewServer = Callable[[], SaslServer]


@dataclass(slots=True)
class LoginCounts:
    """Counts the logins of a listener by how they ended, since the broker's start; for Kafka's metrics.

    Attributes:
        no_reauthentication_count: Successful ones of clients that do not know how to log in again.
        expired_connection_count: Connections closed as their session was over.
    """

    success_count: int = 0
    failure_count: int = 0
    reauthentication_success_count: int = 0
    reauthentication_failure_count: int = 0
    no_reauthentication_count: int = 0
    expired_connection_count: int = 0


class Checks:
    """Computes the slow steps of logins in a thread, in order.

    A client waits for one at a time, so a flood of them holds up those who log in, by what each takes, and nobody else.
    """

    def __init__(self, executor: Executor) -> None:
        """Args:
        executor: A single thread of its own.
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
    """Login rate limiter: begins logins at once, or delays them while very many fail.

    A failed login is answered late, so a client begins few that fail; but who hangs up in the middle could begin again
    at once. So both count for as long as an answer is held back, and who comes next waits where there are too many.
    """

    def __init__(self, call_later: Callable[[int, Callable[[], object]], object], delay_ms: Callable[[], int]) -> None:
        self._call_later = call_later
        self._delay_ms = delay_ms
        self._failure_count = 0
        self._waiting: deque[Callable[[], object]] = deque()

    def enter(self, begin: Callable[[], object]) -> bool:
        """Begin a login now or later; return False if too many are waiting."""
        if self._failure_count < MOST_FAILURES and not self._waiting:
            begin()
        elif len(self._waiting) < MOST_WAITING:
            self._waiting.append(begin)
        else:
            return False
        return True

    def failed(self) -> None:
        """Count a login that failed, or was abandoned."""
        self._failure_count += 1
        self._call_later(self._delay_ms(), self._forget)

    def _forget(self) -> None:
        self._failure_count -= 1
        # One for one, so that they don't all come at once; all where nothing else would let them in.
        for _ in range(1 if self._failure_count else len(self._waiting)):
            if self._waiting:
                self._waiting.popleft()()


class ListenerLogins:
    """The mechanisms of one listener.

    Attributes:
        mechanisms: Their names, in the order of the setting.
        checks: Of all listeners.
        rate_limiter: Of this listener.
        counts: Of this listener.
        failure_delay_ms: How long the answer to a failed login is delayed.
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
        servers: For each mechanism, the function that begins a login.
        max_reauth_ms: For each mechanism, how long a session lasts (connections.max.reauth.ms); 0: for ever.
        """
        self._servers = dict(servers)
        self._max_reauth_ms = {name: lifetime_ms or None for name, lifetime_ms in max_reauth_ms.items()}
        self.failure_delay_ms = failure_delay_ms
        self.checks = checks
        self.rate_limiter = LoginRateLimiter(timers.call_later, failure_delay_ms)
        self.mechanisms: Sequence[str] = tuple(servers)
        self.counts = LoginCounts()

    def new_server(self, mechanism: str) -> SaslServer:
        """Begin a login by one of the mechanisms."""
        return self._servers[mechanism]()

    def session_lifetime_ms(self, mechanism: str, now_ms: int, expires_ms: int | None) -> int | None:
        """Return how long a session that begins now lasts; None: for ever.

        Args:
            now_ms, expires_ms: Now, and when what the client proved itself with runs out, since the epoch.
        """
        lifetime_ms = self._max_reauth_ms[mechanism]
        if lifetime_ms is None or expires_ms is None:
            # With connections.max.reauth.ms=0 not even a token's end ends the session, as in Kafka.
            return lifetime_ms
        # differs from Kafka (ended-tokens): a token that is over by now gives a session without end.
        return min(lifetime_ms, max(LEAST_SESSION_MS, expires_ms - now_ms))
