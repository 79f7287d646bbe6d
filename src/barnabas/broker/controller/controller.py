"""The controller's event queue: what happens in the registry, one event after the other.

Everything that changes the controller's state runs in one task. Watches only put an event into the queue; the event's
handler reads the registry again (and sets the watch again), so that no change is missed and several are seen at once.

Invariants:

- A broker that is not the controller holds no state and sends nothing. It is none while it has no connection to the
  registry, and stands for election again once it has one, in a session in which it is registered.
- A handler whose write is refused because the controller's epoch changed resigns. One that lost the connection to the
  registry does not know what it has done: it forgets all it knew and takes over again, as long as /controller is still
  this session's.
- Nothing that the registry holds and nothing that fails ends the task that handles the events.
- Requests about a partition are sent after its state was written.

Source: semantics, controller; zookeeper.md, watchers of each node.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeVar, assert_never

from barnabas.broker.controller.deletion import delete_nodes, is_blocked
from barnabas.broker.controller.election import Elected, current_controller, elect, still_elected
from barnabas.broker.controller.epoch_guard import ControllerMovedError
from barnabas.broker.controller.events import Event, QueueEvent, ReplicasDeleted, Signal, TopicSet
from barnabas.broker.controller.old_requests import elect_as_asked, reassign_as_asked
from barnabas.broker.controller.partitions import create_states, read_states, reassess
from barnabas.broker.controller.reading import assignment_of, read_topics
from barnabas.broker.controller.reassignment import Moving, complete_reassignments, reassignments
from barnabas.broker.controller.requests import (
    ControlResponse,
    leader_and_isr,
    stop_for_deletion,
    stop_replicas,
    update_metadata,
)
from barnabas.broker.controller.sender import Sender
from barnabas.broker.controller.state import ControllerState, LiveBroker, compare_brokers
from barnabas.broker.controller.work import Asked, Outcome, Work
from barnabas.core.clock import Clock
from barnabas.core.pending import Pending
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.stop_replica import StopReplicaResponse
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import delete_with_children
from barnabas.wire.registry.store import (
    ConnectionLostError,
    NoNodeError,
    Registry,
    RegistryClosedError,
    SessionState,
)
from barnabas.wire.registry.znodes.brokers import decode_registration
from barnabas.wire.registry.znodes.payload import decimal_int32

log = logging.getLogger(__name__)

T = TypeVar("T")

RECONNECT_BACKOFF_MS = 100
TAKE_OVER_BACKOFF_MS = 1_000
_PARTITIONS_PER_TURN = 500


async def _as_it_is() -> None:
    return


def _nothing() -> None:
    return


def _everybody(broker_id: int) -> bool:
    return True


class Controller:
    """One broker's part in controlling the cluster."""

    def __init__(
        self,
        broker_id: int,
        registry: Registry,
        clock: Clock,
        timers: Timers,
        sender: Sender,
        listener_name: str,
        is_deletion_enabled: bool,
        register: Callable[[], Awaitable[None]] = _as_it_is,
        admits: Callable[[int], bool] = _everybody,
    ) -> None:
        """Args:
        sender: Owned by the controller from here on.
        listener_name: The listener that brokers use among each other.
        is_deletion_enabled: `delete.topic.enable`.
        register: Makes sure that this broker is registered in this session.
        admits: Whether a broker that is registered belongs to this cluster.
        """
        self._broker_id = broker_id
        self._registry = registry
        self._clock = clock
        self._timers = timers
        self._sender = sender
        self._listener_name = listener_name
        self._is_deletion_enabled = is_deletion_enabled
        self._register = register
        self._admits = admits
        self._forget_session: Callable[[], None] = _nothing
        self._state: ControllerState | None = None
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller."""
        return self._state is not None

    @property
    def state(self) -> ControllerState | None:
        """The controller's state, to be read only; None while another broker is the controller."""
        return self._state

    @property
    def waiting_count(self) -> int:
        """The number of events that wait to be handled."""
        return self._events.qsize()

    @property
    def epoch(self) -> int:
        """The controller epoch; 0 while another broker is the controller."""
        return 0 if self._state is None else self._state.epoch

    def reassignments(self) -> dict[TopicPartition, Moving]:
        """The partitions that are on their way to other brokers; none where another broker is the controller."""
        return {} if self._state is None else reassignments(self._state)

    async def carry_out(self, work: Work[T]) -> T | None:
        """Do something in the controller's name, in its turn among the events.

        Returns:
            What the work gives for its value; None: this broker is not the controller (any more).
        """
        if self._state is None:
            return None
        asked = Asked(work, Pending())
        self._events.put_nowait(asked)
        value: T | None = await asked.answer.future()
        return value

    def is_deleting(self, topic: str) -> bool:
        """Return whether a topic is on its way out; never where another broker is the controller."""
        return self._state is not None and topic in self._state.deleting

    async def start(self) -> None:
        """Stand for election, take over if elected, and begin to handle events.

        Returns once this broker itself has done what it was told, so that its partitions are led and its view of
        the cluster is filled; at once when another broker is the controller.
        """
        self._forget_session = self._registry.on_session(self._on_session)
        await self._handle(Signal.CONTROLLER_CHANGED)
        self._task = asyncio.get_running_loop().create_task(self._run())
        idle: Pending[None] = Pending()
        self._sender.when_idle(self._broker_id, lambda: idle.complete(None))
        await idle.future()

    async def close(self) -> None:
        """Stop handling events. What the registry says of this controller ends with the session."""
        self._forget_session()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._sender.close()
        self._state = None

    def _on_session(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            self._events.put_nowait(Signal.CONTROLLER_CHANGED)
        else:
            # differs from Kafka (registry-lost): it is controller until the session expires.
            self._resign()

    async def _run(self) -> None:
        while True:
            event = await self._events.get()
            try:
                await self._handle(event)
            except RegistryClosedError:
                return
            except Exception as error:
                if isinstance(event, Asked):
                    event.answer.fail(error)
                # Whatever it was: the next event may be handled, and a controller that stands still is worse.
                log.exception("the controller could not handle %s", event)
                if self._state is None:
                    self._timers.call_later(TAKE_OVER_BACKOFF_MS, self._events.put_nowait, Signal.CONTROLLER_CHANGED)
            finally:
                if isinstance(event, Asked):
                    # Where nothing was done: this broker is the controller no more.
                    event.answer.complete(None)

    async def _handle(self, event: Event) -> None:
        """Handle an event, however often the connection is lost on the way."""
        while True:
            state = self._state
            try:
                if state is not None:
                    await self._handle_as_controller(event, state)
                elif event is Signal.CONTROLLER_CHANGED:
                    await self._stand_for_election()
                return
            except ControllerMovedError as error:
                log.warning("the registry refused a write of the controller: %s", error)
                self._resign()
            except ConnectionLostError as error:
                log.warning("the controller lost the connection to the registry (%s); it begins anew", error)
                self._resign()
                await self._pause()
            event = Signal.CONTROLLER_CHANGED

    async def _pause(self) -> None:
        over: Pending[None] = Pending()
        self._timers.call_later(RECONNECT_BACKOFF_MS, over.complete, None)
        await over.future()

    async def _handle_as_controller(self, event: Event, state: ControllerState) -> None:
        match event:
            case Signal.CONTROLLER_CHANGED:
                await self._stand_for_election()
            case Signal.BROKERS_CHANGED:
                await self._brokers_changed(state)
            case Signal.BROKER_SET:
                state.brokers.update(await self._read_brokers(state))
                self._send_metadata(state, state.brokers, [])
            case Signal.TOPICS_CHANGED:
                await self._topics_changed(state)
            case Signal.DELETIONS_CHANGED:
                await self._deletions_changed(state)
            case Signal.ELECTION_ASKED | Signal.REASSIGNMENT_ASKED:
                await self._do_as_asked_by_node(state, event)
            case TopicSet():
                await self._topic_set(state, event.topic)
            case Asked():
                await self._do(state, event)
            case ReplicasDeleted():
                await self._replicas_deleted(state, event.topic)
            case _:
                assert_never(event)

    def _watch(self, event: Event) -> QueueEvent:
        return QueueEvent(self._events, event)

    # Election and failover

    async def _stand_for_election(self) -> None:
        await self._register()
        incumbent = await current_controller(self._registry, self._watch(Signal.CONTROLLER_CHANGED))
        if incumbent == (self._broker_id, self._registry.session_id):
            if self._state is not None:
                return
            elected: Elected | None = await still_elected(self._registry)
        else:
            self._resign()
            if incumbent is not None:
                return
            elected = await elect(self._registry, self._broker_id, self._clock)
        if elected is None:
            return
        self._state = state = ControllerState(elected.epoch, elected.epoch_zk_version)
        log.info("broker %d is the controller, epoch %d", self._broker_id, elected.epoch)
        try:
            await self._take_over(state)
        except BaseException:
            # Half a state is none.
            self._resign()
            raise

    async def _take_over(self, state: ControllerState) -> None:
        """Read everything, tell everybody who is alive, and make every partition what it should be."""
        self._drop_events()
        state.brokers = await self._read_brokers(state)
        deleting = await self._registry.children(paths.DELETE_TOPICS, self._watch(Signal.DELETIONS_CHANGED))
        topics = await self._registry.children(paths.BROKER_TOPICS, self._watch(Signal.TOPICS_CHANGED))
        await read_topics(self._registry, state, topics, self._watch_topic)
        await read_states(self._registry, state, state.topics)
        if self._is_deletion_enabled:
            state.deleting = state.topics.keys() & set(deleting)
        for broker_id in state.brokers:
            self._sender.add(broker_id)
        self._send_metadata(state, state.brokers, [])
        known = state.partitions()
        await reassess(self._registry, state, known)
        await create_states(self._registry, state, sorted(state.topics.keys() - state.deleting))
        self._send_leaders(state, state.brokers, known, is_new=False)
        self._send_metadata(state, state.brokers, known)
        self._tell_outcome(state, await complete_reassignments(self._registry, state, reassignments(state)))
        if state.deleting:
            # Who was to tell it may have been interrupted.
            self._send_metadata(state, state.brokers, state.partitions(state.deleting))
        for topic in sorted(state.deleting):
            self._delete_replicas(state, topic)
        if state.deleting != set(deleting):
            await self._deletions_changed(state)
        await self._do_as_asked_by_node(state, Signal.REASSIGNMENT_ASKED)
        await self._do_as_asked_by_node(state, Signal.ELECTION_ASKED)

    def _drop_events(self) -> None:
        """Forget what the queue holds of what is read now; who is the controller, and what is asked for, stays."""
        kept: dict[Event, None] = {}
        while not self._events.empty():
            event = self._events.get_nowait()
            if isinstance(event, Asked) or event is Signal.CONTROLLER_CHANGED:
                kept[event] = None
        for event in kept:
            self._events.put_nowait(event)

    def _resign(self) -> None:
        if self._state is None:
            return
        log.info("broker %d is the controller no more", self._broker_id)
        self._state = None
        self._sender.close()

    # Brokers

    async def _read_brokers(self, state: ControllerState) -> dict[int, LiveBroker]:
        names = await self._registry.children(paths.BROKER_IDS, self._watch(Signal.BROKERS_CHANGED))
        found: dict[int, LiveBroker] = {}
        for name in names:
            broker_id, path = decimal_int32(name), paths.child(paths.BROKER_IDS, name)
            try:
                data, stat = await self._registry.get(path, self._watch(Signal.BROKER_SET))
            except NoNodeError:
                continue
            if broker_id is None or not stat.ephemeral_owner:
                # differs from Kafka (impossible-broker): its controller fails where the name is no number.
                if state.is_news(path, "no registration"):
                    log.warning("%s is no broker's registration, and is passed over", path)
            elif self._admits(broker_id):
                found[broker_id] = LiveBroker(decode_registration(broker_id, data), stat.czxid)
        return found

    async def _brokers_changed(self, state: ControllerState) -> None:
        # Somebody may have deleted this broker's own node.
        await self._register()
        found = await self._read_brokers(state)
        change = compare_brokers(state.brokers, found)
        if not change.started and not change.failed:
            return
        log.info("brokers started: %s, failed: %s", sorted(change.started), sorted(change.failed))
        for broker_id in sorted(change.failed):
            self._sender.remove(broker_id)
            del state.brokers[broker_id]
        everything = state.partitions()
        # First without those that failed: a broker that came back is judged as one that was away.
        changed = set(await reassess(self._registry, state, everything))
        state.brokers = found
        for broker_id in sorted(change.started):
            self._sender.add(broker_id)
        changed.update(await reassess(self._registry, state, everything))
        changed.update(await create_states(self._registry, state, sorted(state.topics.keys() - state.deleting)))
        standing = [broker_id for broker_id in state.brokers if broker_id not in change.started]
        self._send_leaders(state, standing, sorted(changed), is_new=False)
        self._send_metadata(state, standing, everything if change.failed else sorted(changed))
        self._send_metadata(state, change.started, [])
        self._send_leaders(state, change.started, everything, is_new=False)
        self._send_metadata(state, change.started, everything)
        for topic in sorted(state.deleting):
            self._delete_replicas(state, topic)

    # Topics

    def _watch_topic(self, path: str) -> QueueEvent:
        return self._watch(TopicSet(paths.name(path)))

    async def _topics_changed(self, state: ControllerState) -> None:
        names = set(await self._registry.children(paths.BROKER_TOPICS, self._watch(Signal.TOPICS_CHANGED)))
        for topic in sorted(state.topics.keys() - names - state.deleting):
            log.warning("topic %s vanished from the registry without having been deleted", topic)
            state.forget_topic(topic)
        for path in [each for each in state.told if paths.parent(each) == paths.BROKER_TOPICS]:
            if paths.name(path) not in names:
                state.settle(path)
        # Those whose first states could not be written (a full disk) are tried again with every change.
        unled = state.settle_unled()
        found = await read_topics(self._registry, state, sorted(names - state.topics.keys()), self._watch_topic)
        new = sorted([*unled, *found])
        if new:
            await read_states(self._registry, state, new)
            await self._make(state, new, state.partitions(new))

    async def _make(self, state: ControllerState, topics: list[str], partitions: list[TopicPartition]) -> None:
        """Let new partitions, which are all that these topics have without a state, begin."""
        await create_states(self._registry, state, topics)
        for start in range(0, len(partitions), _PARTITIONS_PER_TURN):
            self._send_leaders(state, state.brokers, partitions[start : start + _PARTITIONS_PER_TURN], is_new=True)
            await asyncio.sleep(0)
        # All at once: who writes by key must not see a topic that is only half there.
        self._send_metadata(state, state.brokers, partitions)

    async def _topic_set(self, state: ControllerState, topic: str) -> None:
        """Somebody wrote a topic's node: partitions that it has more than before are made."""
        (node,) = await self._registry.get_many([paths.topic(topic)], self._watch_topic)
        known, found = state.topics.get(topic), assignment_of(state, topic, node)
        if known is None or found is None or topic in state.deleting:
            return
        # Other brokers for a partition that is known are a reassignment, which is asked for by a request.
        new = {index: replicas for index, replicas in found.replicas.items() if index not in known.replicas}
        if new:
            log.info("topic %s has %d more partitions", topic, len(new))
            known.replicas.update(new)
            state.unled.add(topic)
            await self._make(state, [topic], [TopicPartition(topic, index) for index in new])

    async def _deletions_changed(self, state: ControllerState) -> None:
        names = await self._registry.children(paths.DELETE_TOPICS, self._watch(Signal.DELETIONS_CHANGED))
        found = []
        for topic in names:
            if topic in state.deleting:
                continue
            # A topic that was created and deleted in one breath may not have been read yet.
            is_known = topic in state.topics or await read_topics(self._registry, state, [topic], self._watch_topic)
            if not is_known or not self._is_deletion_enabled:
                await delete_with_children(self._registry, paths.delete_topic(topic))
                continue
            found.append(topic)
        while found:
            some = _some_topics(state, found)
            del found[: len(some)]
            state.deleting.update(some)
            self._send_metadata(state, state.brokers, state.partitions(some))
            await asyncio.sleep(0)
            for topic in some:
                self._delete_replicas(state, topic)
                await asyncio.sleep(0)

    def _delete_replicas(self, state: ControllerState, topic: str) -> None:
        """Ask every broker that hosts the topic to drop it; when all have, an event says so."""
        if is_blocked(state, topic):
            log.info("topic %s is deleted once all of its brokers are alive", topic)
            return
        requests = [
            (broker_id, request)
            for broker_id in state.brokers
            if (request := stop_for_deletion(state, self._broker_id, broker_id, topic)) is not None
        ]
        waiting = {broker_id for broker_id, _ in requests}

        def confirm(broker_id: int, response: ControlResponse | None) -> None:
            if not isinstance(response, StopReplicaResponse):
                return
            if response.error_code or any(each.error_code for each in response.partition_errors):
                log.warning("broker %d could not delete its replicas of topic %s", broker_id, topic)
                return
            waiting.discard(broker_id)
            if not waiting:
                self._events.put_nowait(ReplicasDeleted(topic))

        for broker_id, request in requests:
            self._sender.send(broker_id, request, partial(confirm, broker_id))
        if not requests:
            self._events.put_nowait(ReplicasDeleted(topic))

    async def _replicas_deleted(self, state: ControllerState, topic: str) -> None:
        if topic not in state.deleting:
            return
        await delete_nodes(self._registry, state, topic)
        state.forget_topic(topic)
        log.info("topic %s is deleted", topic)

    # What is asked for

    async def _do(self, state: ControllerState, asked: Asked) -> None:
        outcome = await asked.work(self._registry, state)
        self._tell_outcome(state, outcome)
        asked.answer.complete(outcome.value)

    async def _do_as_asked_by_node(self, state: ControllerState, event: Signal) -> None:
        work = elect_as_asked if event is Signal.ELECTION_ASKED else reassign_as_asked
        self._tell_outcome(state, await work(self._registry, state, self._watch(event)))

    def _tell_outcome(self, state: ControllerState, outcome: Outcome[Any]) -> None:
        if outcome.changed:
            self._send_leaders(state, state.brokers, list(outcome.changed), is_new=False)
        removed: dict[int, list[TopicPartition]] = {}
        for broker_id, partition in outcome.removed:
            removed.setdefault(broker_id, []).append(partition)
        for broker_id, partitions in removed.items():
            self._sender.send(broker_id, stop_replicas(state, self._broker_id, broker_id, partitions))
        if outcome.changed:
            self._send_metadata(state, state.brokers, list(outcome.changed))

    # Requests

    def _send_leaders(
        self, state: ControllerState, brokers: Iterable[int], partitions: list[TopicPartition], is_new: bool
    ) -> None:
        for broker_id in brokers:
            request = leader_and_isr(state, self._broker_id, broker_id, partitions, is_new, self._listener_name)
            if request is not None:
                self._sender.send(broker_id, request)

    def _send_metadata(self, state: ControllerState, brokers: Iterable[int], partitions: list[TopicPartition]) -> None:
        for broker_id in brokers:
            self._sender.send(broker_id, update_metadata(state, self._broker_id, broker_id, partitions))


def _some_topics(state: ControllerState, topics: list[str]) -> list[str]:
    """The first of some topics, with as many partitions as go into a turn of the loop; one at the least."""
    partition_count = 0
    for count, topic in enumerate(topics):
        partition_count += len(state.topics[topic].replicas)
        if count and partition_count > _PARTITIONS_PER_TURN:
            return topics[:count]
    return topics[:]
