"""The controller context of one controller epoch: state, registry access and sending of requests.

Invariants:

- Every write checks /controller_epoch: it fails after another election.
- A context that has ended neither writes nor sends.

Source: replication.md, controller; zookeeper.md, controller election.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Protocol, TypeVar

from barnabas.broker.controller.epoch_guard import ControllerMovedError, write_as_controller
from barnabas.broker.controller.events import Event, Kind, LeadersAnswered, QueueEvent, ReplicasStopped
from barnabas.broker.controller.requests import Addressed, ControlResponse, RequestBatch, deleted_partitions
from barnabas.broker.controller.sender import Sender
from barnabas.broker.controller.state import ControllerState
from barnabas.core.error_code import ErrorCode
from barnabas.core.histogram import Durations
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from barnabas.wire.registry.store import (
    BadVersionError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Op,
    OpResult,
    Registry,
    RegistryError,
)

log = logging.getLogger(__name__)

K = TypeVar("K")

PARTITIONS_PER_TURN = 500
"""Number of partitions read, written or sent before other work of the loop runs."""

_REFUSALS = BadVersionError, NoNodeError, NodeExistsError, NoChildrenForEphemeralsError, NotEmptyError


class Settings(Protocol):
    """The current values of the broker's settings for the controller."""

    @property
    def delete_topic_enable(self) -> bool: ...
    @property
    def unclean_leader_election_enable(self) -> bool: ...
    @property
    def auto_leader_rebalance_enable(self) -> bool: ...
    @property
    def leader_imbalance_check_interval_seconds(self) -> int: ...
    @property
    def leader_imbalance_per_broker_percentage(self) -> int: ...
    @property
    def inter_broker_protocol_version(self) -> str: ...


@dataclass(slots=True)
class Meters:
    """A broker's controller metrics, over all its controller epochs.

    Attributes:
        handled: How long events of each kind took to handle.
        state: Kafka's number of the current operation; 0: idle.
    """

    unclean_election_count: int = 0
    handled: dict[Kind, Durations] = field(default_factory=lambda: {kind: Durations() for kind in Kind})
    state: int = 0


class ControllerContext:
    """The controller's state and connections, from its election to its resignation.

    Attributes:
        controller_id: This broker.
        state: The controller's state; only changed by event handlers.
        registry: Waits for a connection if it is lost.
        sender: Sends requests to the brokers.
    """

    def __init__(
        self,
        controller_id: int,
        state: ControllerState,
        registry: Registry,
        sender: Sender,
        settings: Settings,
        listener_name: str,
        events: "asyncio.Queue[Event]",
        meters: Meters,
    ) -> None:
        self.controller_id = controller_id
        self.state = state
        self.registry = registry
        self.sender = sender
        self.config = settings
        self._listener_name = listener_name
        self._events = events
        self.meters = meters
        self._is_over = False

    @property
    def protocol(self) -> str:
        """`inter.broker.protocol.version`."""
        return self.config.inter_broker_protocol_version

    def end(self) -> None:
        """Prevent further writes and requests of this context."""
        self._is_over = True
        self.sender.close()

    def watch(self, event: Event) -> QueueEvent:
        """Return a watch that puts an event into the controller's queue."""
        return QueueEvent(self._events, event)

    # Requests

    def new_batch(self) -> RequestBatch:
        return RequestBatch(self.state, self.controller_id, self.protocol, self._listener_name)

    async def send(self, batch: RequestBatch) -> None:
        """Send the requests of a batch."""
        for addressed in batch.requests():
            if self._is_over:
                return
            if addressed is not None:
                self.sender.send(addressed.broker_id, addressed.request, partial(self._answered, addressed))
            await asyncio.sleep(0)

    async def send_update_metadata(
        self, brokers: Sequence[int] | None = None, partitions: Sequence[TopicPartition] = ()
    ) -> None:
        """Send UpdateMetadata with partitions to some brokers, or to all."""
        batch = self.new_batch()
        batch.add_update_metadata(list(self.state.brokers) if brokers is None else brokers, partitions)
        await self.send(batch)

    def _answered(self, addressed: Addressed, response: ControlResponse | None) -> None:
        """Queue an event for an answer that requires action."""
        if self._is_over:
            return
        if response is not None and response.error_code:
            name = type(addressed.request).__name__
            log.warning("broker %d rejected a %s: error %d", addressed.broker_id, name, response.error_code)
        if isinstance(response, LeaderAndIsrResponse):
            failed = self.state.failed_replicas.get(addressed.broker_id)
            if failed or any(each.error_code == ErrorCode.KAFKA_STORAGE_ERROR for each in response.partition_errors):
                self._events.put_nowait(LeadersAnswered(addressed.broker_id, response))
        elif isinstance(response, StopReplicaResponse) and isinstance(addressed.request, StopReplicaRequest):
            wanted = deleted_partitions(addressed.request)
            refused = {
                TopicPartition(each.topic_name, each.partition_index)
                for each in response.partition_errors
                if each.error_code
            }
            if response.error_code:
                refused.update(wanted)
            # STALE_BROKER_EPOCH says nothing about the new registration: the request is repeated once that is detected.
            if wanted and response.error_code != ErrorCode.STALE_BROKER_EPOCH:
                deleted = [each for each in wanted if each not in refused]
                lost = [each for each in wanted if each in refused]
                self._events.put_nowait(ReplicasStopped(addressed.broker_id, deleted, lost))

    # Writes

    async def write(self, ops: Sequence[Op]) -> list[OpResult]:
        """Execute all operations in one transaction.

        Raises:
            ControllerMovedError: This broker is no longer the controller.
            RegistryError: The error of the first of `ops` that was rejected.
        """
        if self._is_over:
            raise ControllerMovedError("this broker has resigned as controller")
        return await write_as_controller(self.registry, self.state.epoch_zk_version, ops)

    async def write_each(self, wanted: Mapping[K, Sequence[Op]]) -> dict[K, list[OpResult] | RegistryError]:
        """Write operations in as few transactions as possible; if one is rejected, retry each of its parts alone.

        Returns:
            For each key the results of its operations, or the error that rejected them.

        Raises:
            ControllerMovedError: This broker is no longer the controller.
        """
        # differs from Kafka (states-together): Kafka writes each state in its own transaction.
        results: dict[K, list[OpResult] | RegistryError] = {}
        items = iter(wanted.items())
        while some := dict(islice(items, PARTITIONS_PER_TURN)):
            results.update(await self._write_together(some))
            await asyncio.sleep(0)
        return results

    async def _write_together(self, some: Mapping[K, Sequence[Op]]) -> dict[K, list[OpResult] | RegistryError]:
        try:
            written = iter(await self.write([op for ops in some.values() for op in ops]))
        except _REFUSALS as error:
            if len(some) == 1:
                return dict.fromkeys(some, error)
            results: dict[K, list[OpResult] | RegistryError] = {}
            for key, ops in some.items():
                results.update(await self._write_together({key: ops}))
            return results
        return {key: list(islice(written, len(ops))) for key, ops in some.items()}
