"""Keeps an identity provider's public keys up to date.

Keys are read at the start, then every `sasl.oauthbearer.jwks.endpoint.refresh.ms`, and when a token names an unknown
key (at most every ten seconds). A failed read is retried after `.retry.backoff.ms`; the delay doubles each time up to
`.retry.backoff.max.ms`. The previous keys stay in use meanwhile.

Source: KIP-768; Kafka 3.1, RefreshingHttpsJwks.
"""

import logging
from collections.abc import Callable

from barnabas.broker.security.oauth.signed import Key, SignedTokens, parse_keys
from barnabas.core.clock import Clock
from barnabas.core.errors import ConfigError
from barnabas.core.executor import Executor
from barnabas.core.pending import Pending
from barnabas.core.timers import Timer, Timers

log = logging.getLogger(__name__)

_LEAST_BETWEEN_MS = 10_000


class KeyRefresher:
    """Reads the keys for `SignedTokens`, in an executor. Owned by the event loop."""

    def __init__(
        self,
        url: str,
        read: Callable[[str], bytes],
        executor: Executor,
        clock: Clock,
        timers: Timers,
        refresh_ms: int,
        retry_ms: tuple[int, int],
    ) -> None:
        """Args:
        read: Reads a URL in the executor; raises OSError.
        retry_ms: First and longest delay after a failure.
        """
        self._url = url
        self._read = read
        self._executor = executor
        self._clock = clock
        self._timers = timers
        self._refresh_ms = refresh_ms
        self._first_retry_ms, self._most_retry_ms = retry_ms
        self._retry_ms = self._first_retry_ms
        self._tokens: list[SignedTokens] = []
        self._keys: dict[str, Key] = {}
        self._timer: Timer | None = None
        self._is_reading = self._is_closed = False
        self._last_wanted_ms: int | None = None
        self._first: Pending[None] = Pending()

    async def wait(self) -> None:
        """Wait until the first read has succeeded or failed."""
        await self._first.future()

    def serve(self, tokens: SignedTokens) -> None:
        """Provide the keys to another validator."""
        tokens.keys = self._keys
        self._tokens.append(tokens)

    def refresh(self) -> None:
        """Read the keys now, unless a read is running."""
        if self._is_reading or self._is_closed:
            return
        self._is_reading = True
        if self._timer is not None:
            self._timer.cancel()
        self._executor.run(lambda: parse_keys(self._read(self._url)), self._take, self._failed)

    def want(self) -> None:
        """Request a read of the keys, because a token names an unknown key."""
        now_ms = self._clock.monotonic_ms()
        if self._last_wanted_ms is None or now_ms - self._last_wanted_ms >= _LEAST_BETWEEN_MS:
            self._last_wanted_ms = now_ms
            self.refresh()

    def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _take(self, keys: dict[str, Key]) -> None:
        self._is_reading = False
        self._first.complete(None)
        if keys.keys() != self._keys.keys():
            log.info("read %d public keys for OAUTHBEARER tokens from %s", len(keys), self._url)
        self._keys = keys
        for tokens in self._tokens:
            tokens.keys = keys
        self._retry_ms = self._first_retry_ms
        self._again(self._refresh_ms)

    def _failed(self, error: BaseException) -> None:
        self._is_reading = False
        self._first.complete(None)
        if isinstance(error, OSError | ConfigError | ValueError):
            log.warning("cannot read the public keys for OAUTHBEARER tokens from %s: %s", self._url, error)
        else:
            log.error("cannot read the public keys for OAUTHBEARER tokens from %s", self._url, exc_info=error)
        retry_ms, self._retry_ms = self._retry_ms, min(2 * self._retry_ms, self._most_retry_ms)
        self._again(retry_ms)

    def _again(self, delay_ms: int) -> None:
        if not self._is_closed:
            self._timer = self._timers.call_later(delay_ms, self.refresh)
