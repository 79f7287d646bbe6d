"""Handles the controller's requests to this broker, both from the network and from the broker's own process.

    request ─► registered? ─► for this registration? ─► newest controller? ─► queue ─► replicas, or the view

Invariants:

- A request for an earlier registration of this broker, or from a controller older than the newest one seen, is refused.
- The controller sends to an address, and may not know yet that another process listens there. Requests that arrive
  before this broker starts to register are therefore for the previous process and are refused. Requests that arrive
  during the registration wait for its result. Below protocol 2.2, requests have no broker epoch: then this is the
  only check of the registration.
- Requests are processed one at a time, in the order of arrival. The response is sent when all local effects are done.
- The settings of a topic are loaded before its first replica is created.
- Partitions with an invalid topic name or a negative number are refused one by one. Such a name could be a path outside
  the log directory, and partition -1 of `a` would have the same directory name as partition 1 of `a-`.

Source: semantics, replication; KIP-380 (broker epochs); Kafka 2.7.2, KafkaApis.isBrokerEpochStale, ReplicaManager.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Protocol, TypeVar

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.replicas.legacy_control_requests import grouped_leaders, grouped_metadata, grouped_stops
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending, Spawner, completed
from barnabas.core.types import is_topic_name
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

T = TypeVar("T")

_NO_EPOCH = -1


class Replicas(Protocol):
    """The part of the replica manager that processes the controller's requests."""

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> Pending[LeaderAndIsrResponse]: ...

    def stop_replica(self, request: StopReplicaRequest) -> Pending[StopReplicaResponse]: ...


class ControlRequests:
    """Carries out the controller's requests. Owned by the event loop."""

    def __init__(
        self,
        replicas: Replicas,
        view: ClusterView,
        load_settings: Callable[[Iterable[str]], Awaitable[None]],
        spawner: Spawner,
    ) -> None:
        """Args:
        load_settings: Reads the settings of topics and calls their listeners.
        """
        self._replicas = replicas
        self._view = view
        self._load_settings = load_settings
        self._spawner = spawner
        self._controller_epoch = 0
        # Requests that arrived before this broker was registered: called with True to process them, False to refuse.
        self._early: list[Callable[[bool], object]] | None = []
        self._queue: deque[Callable[[], Pending[None]]] = deque()
        self._is_working = False

    def registers(self) -> None:
        """Note that this broker registers now: refuse earlier requests, which were for its last registration."""
        early, self._early = self._early or (), []
        for settle in early:
            settle(False)

    def registered(self) -> None:
        """Note that this broker is registered and knows its epoch: requests are checked from now on."""
        early, self._early = self._early or (), None
        for settle in early:
            settle(True)

    def _once_registered(self, judge: Callable[[], Pending[T]], refuse: Callable[[ErrorCode], T]) -> Pending[T]:
        if self._early is None:
            return judge()
        answer: Pending[T] = Pending()

        def settle(is_for_this: bool) -> None:
            if is_for_this:
                judge().then(answer.complete, answer.fail)
            else:
                answer.complete(refuse(ErrorCode.STALE_BROKER_EPOCH))

        self._early.append(settle)
        return answer

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> Pending[LeaderAndIsrResponse]:
        """Become leader or follower as the controller requests; missing logs are created."""
        grouped = grouped_leaders(request)
        return self._once_registered(partial(self._judge_leaders, grouped), partial(refused_leaders, grouped))

    def _judge_leaders(self, request: LeaderAndIsrRequest) -> Pending[LeaderAndIsrResponse]:
        refusal = self._refusal(request.controller_epoch, request.broker_epoch)
        if refusal:
            return completed(refused_leaders(request, refusal))
        refused = _take_out_invalid(request)
        if not refused:
            return self._in_turn(partial(self._leader_and_isr, request))

        def completed_by_refused(response: LeaderAndIsrResponse) -> LeaderAndIsrResponse:
            response.partition_errors += refused
            return response

        return self._in_turn(partial(self._leader_and_isr, request)).shaped(completed_by_refused)

    def _leader_and_isr(self, request: LeaderAndIsrRequest) -> Pending[LeaderAndIsrResponse]:
        unread = [
            topic.topic_name
            for topic in request.topic_states
            if any(state.is_new for state in topic.partition_states)
            or not self._view.has_topic_overrides(topic.topic_name)
        ]
        if not unread:
            return self._replicas.leader_and_isr(request)
        return self._spawner.spawn(self._load(unread)).and_then(lambda _: self._replicas.leader_and_isr(request))

    async def _load(self, topics: list[str]) -> None:
        await self._load_settings(topics)

    def stop_replica(self, request: StopReplicaRequest) -> Pending[StopReplicaResponse]:
        """Stop hosting partitions; complete when the logs to delete are deleted."""
        return self._once_registered(partial(self._judge_stop, grouped_stops(request)), StopReplicaResponse)

    def _judge_stop(self, request: StopReplicaRequest) -> Pending[StopReplicaResponse]:
        refusal = self._refusal(request.controller_epoch, request.broker_epoch)
        if refusal:
            return completed(StopReplicaResponse(refusal))
        return self._in_turn(partial(self._replicas.stop_replica, request))

    def update_metadata(self, request: UpdateMetadataRequest) -> Pending[UpdateMetadataResponse]:
        """Apply UpdateMetadata to the cluster image."""
        return self._once_registered(partial(self._judge_metadata, grouped_metadata(request)), UpdateMetadataResponse)

    def _judge_metadata(self, request: UpdateMetadataRequest) -> Pending[UpdateMetadataResponse]:
        refusal = self._refusal(request.controller_epoch, request.broker_epoch)
        if refusal:
            return completed(UpdateMetadataResponse(refusal))

        def update() -> Pending[UpdateMetadataResponse]:
            self._view.update_metadata(request)
            return completed(UpdateMetadataResponse())

        return self._in_turn(update)

    def _refusal(self, controller_epoch: int, broker_epoch: int) -> ErrorCode:
        # A higher epoch is valid: this broker may not know its new registration yet.
        if _NO_EPOCH < broker_epoch < self._view.broker_epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        if controller_epoch < self._controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self._controller_epoch = controller_epoch
        return ErrorCode.NONE

    def _in_turn(self, work: Callable[[], Pending[T]]) -> Pending[T]:
        """Run work after all earlier work is done."""
        answer: Pending[T] = Pending()

        def do() -> Pending[None]:
            done: Pending[None] = Pending()

            def finished(value: T) -> None:
                answer.complete(value)
                done.complete(None)

            def failed(error: BaseException) -> None:
                answer.fail(error)
                done.complete(None)

            try:
                work().then(finished, failed)
            except Exception as error:
                failed(error)
            return done

        self._queue.append(do)
        self._go_on()
        return answer

    def _go_on(self) -> None:
        # A loop, not recursion: most requests finish at once, and the queue may be long.
        while self._queue and not self._is_working:
            self._is_working = True
            done = self._queue.popleft()()
            if done.is_done:
                self._is_working = False
            else:
                done.then(self._ended)

    def _ended(self, _: None) -> None:
        self._is_working = False
        self._go_on()


def refused_leaders(request: LeaderAndIsrRequest, error_code: ErrorCode) -> LeaderAndIsrResponse:
    """Return the response that refuses a whole request, with the same error for each partition."""
    return LeaderAndIsrResponse(error_code, _each_refused(grouped_leaders(request).topic_states, error_code))


def _take_out_invalid(request: LeaderAndIsrRequest) -> list[LeaderAndIsrPartitionError]:
    """Remove invalid partitions from a request, and return their errors."""
    # differs from Kafka (invalid-partitions): Kafka creates a directory for each.
    refused: list[LeaderAndIsrPartitionError] = []
    for topic in request.topic_states:
        states, topic.partition_states = topic.partition_states, []
        if not is_topic_name(topic.topic_name):
            error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
        else:
            error_code = ErrorCode.INVALID_REQUEST
            topic.partition_states = [state for state in states if state.partition_index >= 0]
            states = [state for state in states if state.partition_index < 0]
        refused += [LeaderAndIsrPartitionError(topic.topic_name, each.partition_index, error_code) for each in states]
    request.topic_states = [topic for topic in request.topic_states if topic.partition_states]
    return refused


def _each_refused(topics: Iterable[LeaderAndIsrTopicState], error_code: ErrorCode) -> list[LeaderAndIsrPartitionError]:
    return [
        LeaderAndIsrPartitionError(topic.topic_name, state.partition_index, error_code)
        for topic in topics
        for state in topic.partition_states
    ]
