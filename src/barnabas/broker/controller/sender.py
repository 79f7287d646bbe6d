"""Sends the controller's requests to brokers: one at a time and in order per broker, with retries until it is gone.

After STALE_BROKER_EPOCH (the request was for an earlier registration), a broker gets no requests until its new
registration is detected. The queued requests are for the earlier one, and below protocol 2.2 they have no broker epoch.

Source: semantics, controller (requests to one broker).
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from barnabas.broker.controller.requests import ControlRequest, ControlResponse
from barnabas.core.clock import Clock
from barnabas.core.error_code import ErrorCode
from barnabas.core.histogram import Durations
from barnabas.core.timers import Timers

log = logging.getLogger(__name__)

RETRY_BACKOFF_MS = 100

Delivered = Callable[[ControlResponse | None], object]
"""Called with the broker's answer, or None if the broker did not get the request."""


class BrokerLink(Protocol):
    """The link to one broker."""

    def send(self, request: ControlRequest, then: Delivered) -> None:
        """Deliver a request; call `then` once, with the answer, or with None if it may not have arrived."""
        ...


class ChannelFigures(NamedTuple):
    """Metrics of the requests to one broker.

    Attributes:
        waiting_count: The number of queued requests that are not sent yet.
        times: How long requests waited to be sent.
    """

    broker_id: int
    waiting_count: int
    times: Durations


class _Entry:
    """A queued request.

    Attributes:
        queued_ns: When it was queued; None once it is sent.
    """

    __slots__ = ("queued_ns", "request", "then")

    def __init__(self, request: ControlRequest, then: Delivered, queued_ns: int) -> None:
        self.request = request
        self.then = then
        self.queued_ns: int | None = queued_ns


class _Channel:
    """The requests of one registration of a broker; the first in the queue is the one in flight.

    Attributes:
        is_closed: Whether the broker is gone, or has registered again.
    """

    __slots__ = ("is_closed", "is_sending", "link", "queue", "times")

    def __init__(self, link: BrokerLink) -> None:
        self.link = link
        self.queue: deque[_Entry] = deque()
        self.is_sending = False
        self.is_closed = False
        self.times = Durations()


def _ignore(response: ControlResponse | None) -> None:
    return


def _close(channel: _Channel) -> None:
    channel.is_closed = True
    queue, channel.queue = channel.queue, deque()
    for entry in queue:
        entry.then(None)


class Sender:
    """One queue for each live broker. Owned by the event loop."""

    def __init__(self, timers: Timers, clock: Clock, link_to: Callable[[int], BrokerLink]) -> None:
        """Args:
        link_to: Returns the link to a registered broker.
        """
        self._timers = timers
        self._clock = clock
        self._link_to = link_to
        self._channels: dict[int, _Channel] = {}

    def add(self, broker_id: int) -> None:
        """Add a broker that registered."""
        self.remove(broker_id)
        self._channels[broker_id] = _Channel(self._link_to(broker_id))

    def remove(self, broker_id: int) -> None:
        """Remove a broker that is gone; its unanswered requests complete with None."""
        channel = self._channels.pop(broker_id, None)
        if channel is not None:
            _close(channel)

    def send(self, broker_id: int, request: ControlRequest, then: Delivered = _ignore) -> None:
        """Queue a request; `then` gets the answer, or None if the broker is gone."""
        channel = self._channels.get(broker_id)
        if channel is None or channel.is_closed:
            then(None)
            return
        channel.queue.append(_Entry(request, then, self._clock.monotonic_ns()))
        if not channel.is_sending:
            self._send_next(channel)

    def when_idle(self, broker_id: int, callback: Callable[[], object]) -> None:
        """Call back when a broker has answered all queued requests; at once if none is queued."""
        channel = self._channels.get(broker_id)
        if channel is None or not channel.is_sending:
            callback()
            return
        last = channel.queue[-1]
        last_then = last.then

        def both(response: ControlResponse | None) -> None:
            last_then(response)
            callback()

        last.then = both

    def figures(self) -> Iterator[ChannelFigures]:
        """Yield the metrics of all brokers."""
        for broker_id, channel in self._channels.items():
            yield ChannelFigures(broker_id, len(channel.queue) - channel.is_sending, channel.times)

    def close(self) -> None:
        """Remove all brokers."""
        for broker_id in list(self._channels):
            self.remove(broker_id)

    def _send_next(self, channel: _Channel) -> None:
        # A loop instead of recursion: a link in this process answers at once, and the queue may be long.
        channel.is_sending = True
        is_looping = True

        def answered(response: ControlResponse | None) -> None:
            if channel.is_closed:
                return
            if response is None:
                self._timers.call_later(RETRY_BACKOFF_MS, self._retry, channel)
                return
            entry = channel.queue.popleft()
            if response.error_code == ErrorCode.STALE_BROKER_EPOCH:
                _close(channel)
            entry.then(response)
            if not is_looping:
                self._continue(channel)

        while channel.queue and not channel.is_closed:
            head = channel.queue[0]
            if head.queued_ns is not None:
                channel.times.note(self._clock.monotonic_ns() - head.queued_ns)
                head.queued_ns = None
            channel.link.send(head.request, answered)
            if channel.queue and channel.queue[0] is head:
                is_looping = False
                return
        channel.is_sending = False

    def _continue(self, channel: _Channel) -> None:
        if channel.queue and not channel.is_closed:
            self._send_next(channel)
        else:
            channel.is_sending = False

    def _retry(self, channel: _Channel) -> None:
        if not channel.is_closed:
            self._send_next(channel)
