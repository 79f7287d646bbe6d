"""Asks the controller, before a broker stops, to move its leaderships to other brokers.

It repeats the request after `controlled.shutdown.retry.backoff.ms`, `controlled.shutdown.max.retries` times in all, and
sooner if another controller is elected. It does not wait if no other broker is left to lead: a single broker stops at
once.

Source: replication.md, controlled shutdown; Kafka 2.7.2, KafkaServer.controlledShutdown.
"""

import logging
from collections.abc import Callable, Sequence

from barnabas.broker.cluster.image import ClusterView, ImageChange
from barnabas.broker.interbroker.channels import AddressOf, BrokerChannels
from barnabas.broker.interbroker.versions import version_of
from barnabas.core.config import BrokerConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError
from barnabas.core.pending import Pending
from barnabas.core.timers import Timers
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError, Registry
from barnabas.wire.registry.znodes.brokers import decode_registration
from barnabas.wire.registry.znodes.cluster import decode_controller

log = logging.getLogger(__name__)


class ControlledShutdown:
    """The controlled shutdown of one broker. Owned by the event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        registry: Registry,
        view: ClusterView,
        new_channels: Callable[[AddressOf], BrokerChannels],
        timers: Timers,
    ) -> None:
        """Args:
        registry: The session, which does not wait for a connection: a lost one counts as an attempt.
        new_channels: Makes channels to brokers with these addresses. The controller's address is read from its
            registration, because the image may not contain it yet.
        """
        self._config = config
        self._registry = registry
        self._view = view
        self._addresses: dict[int, tuple[str, int]] = {}
        self._channels = new_channels(self._addresses.get)
        self._timers = timers

    async def ask(self) -> None:
        """Repeat the request until all leaderships that can move have moved, or the retries are used up."""
        try:
            for attempts_left in reversed(range(self._config.controlled_shutdown_max_retries)):
                if self._is_alone():
                    return
                controller = self._controller()
                if await self._is_relieved():
                    return
                # differs from Kafka (controlled-shutdown): Kafka always waits for the full backoff.
                if attempts_left:
                    await self._back_off(controller)
        finally:
            self._channels.close()
        log.warning(
            "controlled shutdown failed: this broker's partitions have no leader until the controller notices its end"
        )

    def _is_alone(self) -> bool:
        return self._view.image.brokers.keys() <= {self._config.broker_id}

    def _controller(self) -> tuple[int, int]:
        return self._view.image.controller_id, self._view.image.controller_epoch

    async def _is_relieved(self) -> bool:
        """Send the request once; return whether every leadership that can move has moved."""
        try:
            answer = await self._send()
        except NoNodeError:
            log.info("no controller found for the controlled shutdown")
            return False
        except BarnabasError as error:
            log.warning("cannot ask the controller for a controlled shutdown: %s", error)
            return False
        left = answer.remaining_partitions
        if answer.error_code != ErrorCode.NONE:
            log.warning("the controller rejected the controlled shutdown: %s", ErrorCode(answer.error_code).name)
            return False
        if not left:
            log.info("other brokers lead this broker's partitions now")
            return True
        names = ", ".join(f"{each.topic_name}-{each.partition_index}" for each in left[:10])
        log.warning("%d partitions have no other replica that can lead now: %s", len(left), names)
        return not self._may_be_led_by_others(left)

    async def _send(self) -> ControlledShutdownResponse:
        """Send the request. Raises BarnabasError: no answer arrived; NoNodeError: no controller exists."""
        config = self._config
        data, _ = await self._registry.get(paths.CONTROLLER)
        controller_id = decode_controller(data)
        data, _ = await self._registry.get(paths.broker(controller_id))
        for endpoint in decode_registration(controller_id, data).endpoints:
            if endpoint.listener_name == config.inter_broker_listener:
                self._addresses[controller_id] = endpoint.host, endpoint.port
        return await self._channels.send(
            controller_id,
            ControlledShutdownRequest(config.broker_id, self._view.broker_epoch),
            version_of(ApiKey.CONTROLLED_SHUTDOWN, config.inter_broker_protocol_version),
            ControlledShutdownResponse,
            timeout_ms=config.request_timeout_ms,
        ).future()

    def _may_be_led_by_others(self, partitions: Sequence[RemainingPartition]) -> bool:
        """Return whether a live broker has a replica of any of these, which may join the ISR meanwhile."""
        image = self._view.image
        others = image.brokers.keys() - {self._config.broker_id}
        states = (image.partition(each.topic_name, each.partition_index) for each in partitions)
        return any(others & set(state.replicas) - set(state.offline) for state in states if state is not None)

    async def _back_off(self, controller: tuple[int, int]) -> None:
        """Wait for the backoff time, for another controller, or until no other broker is left.

        Args:
            controller: The controller at the time of the request.
        """
        over: Pending[None] = Pending()

        def look(_: ImageChange) -> None:
            if self._is_alone() or self._controller() != controller:
                over.complete(None)

        forget = self._view.on_change(look)
        timer = self._timers.call_later(self._config.controlled_shutdown_retry_backoff_ms, over.complete, None)
        await over.future()
        timer.cancel()
        forget()
