"""How connections of one listener log in: which mechanisms there are, against what they check, and how often it worked.

Source: security page, SASL; Kafka 2.7.2, SaslChannelBuilder, Selector's metrics.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from barnabas.core.executor import Executor
from barnabas.security.sasl.mechanism import Check, LoginError, SaslServer

log = logging.getLogger(__name__)

# What a client proved itself with may be over already, as clocks may be off by a little. It gets the shortest session,
# long enough to log in again from: that may be done once a second, and clients do it when 85 % of a session is over.
LEAST_SESSION_MS = 1_500

# Each holds its client's token and connection.
MOST_CHECKS = 1_024

NewServer = Callable[[], SaslServer]


@dataclass(slots=True)
class LoginCounts:
    """What became of the logins of a listener, since the broker's start; for Kafka's metrics.

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
    """Computes what logins wait for, beside the event loop, in the order in which they came.

    A client waits for one at a time, so a flood of them holds up those who log in, by what each takes, and nobody else.
    """

    def __init__(self, executor: Executor) -> None:
        """Args:
        executor: A single thread of its own.
        """
        self._executor = executor
        self._waiting_count = 0

    def run(self, check: Check, then: Callable[[Callable[[], bytes]], object]) -> bool:
        """Compute a check, then call `then` with what goes on; False: too many wait already, and it is not."""
        if self._waiting_count >= MOST_CHECKS:
            return False
        self._waiting_count += 1

        def done(go_on: Callable[[], bytes]) -> None:
            self._waiting_count -= 1
            then(go_on)

        def failed(error: BaseException) -> None:
            self._waiting_count -= 1
            log.error("what a login waits for could not be computed", exc_info=error)
            then(_fail)

        self._executor.run(check, done, failed)
        return True


def _fail() -> bytes:
    raise LoginError("an error of ours")


class ListenerLogins:
    """The mechanisms of one listener.

    Attributes:
        mechanisms: Their names, in the order of the setting.
        checks: Of all listeners.
        counts: Of this listener.
        failure_delay_ms: How long the answer to a failed login is held back.
    """

    def __init__(
        self,
        servers: Mapping[str, NewServer],
        max_reauth_ms: Mapping[str, int],
        failure_delay_ms: Callable[[], int],
        checks: Checks,
    ) -> None:
        """Args:
        servers: For each mechanism, what begins a login.
        max_reauth_ms: For each mechanism, how long a session lasts (connections.max.reauth.ms); 0: for ever.
        """
        self._servers = dict(servers)
        self._max_reauth_ms = {name: lifetime_ms or None for name, lifetime_ms in max_reauth_ms.items()}
        self.failure_delay_ms = failure_delay_ms
        self.checks = checks
        self.mechanisms: Sequence[str] = tuple(servers)
        self.counts = LoginCounts()

    def new_server(self, mechanism: str) -> SaslServer:
        """Begin a login by one of the mechanisms."""
        return self._servers[mechanism]()

    def session_lifetime_ms(self, mechanism: str, now_ms: int, expires_ms: int | None) -> int | None:
        """How long a session that begins now lasts; None: for ever.

        Args:
            now_ms, expires_ms: Now, and when what the client proved itself with runs out, since the epoch.
        """
        lifetime_ms = self._max_reauth_ms[mechanism]
        if lifetime_ms is None or expires_ms is None:
            # With connections.max.reauth.ms=0 not even a token's end ends the session, as in Kafka.
            return lifetime_ms
        # differs from Kafka (ended-tokens): a token that is over by now gives a session without end.
        return min(lifetime_ms, max(LEAST_SESSION_MS, expires_ms - now_ms))
