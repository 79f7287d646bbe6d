"""The controller's event queue: handles events of the registry and of brokers, one at a time.

One task makes all changes of the controller's state. Watches only put an event into the queue. The event's handler
reads the registry again and sets the watch again, so no change is missed, and several are handled at once.

Invariants:

- A broker that is not the controller keeps no state and sends nothing. It stands for election only in a session in
  which it is registered.
- A lost connection delays the handlers. Within the session this broker stays controller and reads missed changes.
- A handler resigns if its write is rejected because the controller epoch changed, or if its session has expired.
- Neither data in the registry nor an exception ends the task that handles the events.
- Every request gets an answer, even if another broker is elected meanwhile.
- Requests about a partition are sent after its state was written.

Source: replication.md, controller: events; zookeeper.md, watchers of each node.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar, assert_never

from barnabas.broker.controller.alter_isr import alter_isr
from barnabas.broker.controller.brokers import broker_set, brokers_changed, leaders_answered
from barnabas.broker.controller.context import ControllerContext, Meters, Settings
from barnabas.broker.controller.controlled_shutdown import controlled_shutdown
from barnabas.broker.controller.deletion import deletions_changed, replicas_stopped
from barnabas.broker.controller.election import Elected, current_controller, elect, still_elected
from barnabas.broker.controller.epoch_guard import ControllerMovedError, write_as_controller
from barnabas.broker.controller.events import (
    Asked,
    Event,
    EventQueue,
    IsrSet,
    Kind,
    LeadersAnswered,
    QueueEvent,
    ReplicasStopped,
    Signal,
    TopicSet,
    UncleanAllowed,
    kind_of,
)
from barnabas.broker.controller.failover import take_over
from barnabas.broker.controller.features import settle_features, update_features
from barnabas.broker.controller.leaders import balance_leaders
from barnabas.broker.controller.notifications import isr_notified, log_dirs_notified
from barnabas.broker.controller.partition_states import bring_waiting_online
from barnabas.broker.controller.reassignment import isr_set
from barnabas.broker.controller.sender import ChannelFigures, Sender
from barnabas.broker.controller.state import ControllerState
from barnabas.broker.controller.topics import topic_set, topics_changed
from barnabas.broker.controller.znode_requests import elect_as_asked, reassign_as_asked
from barnabas.core.clock import Clock
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError
from barnabas.core.histogram import Durations
from barnabas.core.pending import Pending, completed
from barnabas.core.timers import Timer, Timers
from barnabas.wire.protocol.messages.alter_isr import AlterIsrRequest, AlterIsrResponse
from barnabas.wire.protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from barnabas.wire.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from barnabas.wire.registry import paths
from barnabas.wire.registry.patience import RETRY_BACKOFF_MS, PatientRegistry
from barnabas.wire.registry.store import DeleteOp, Registry, RegistryClosedError, SessionState

log = logging.getLogger(__name__)

T = TypeVar("T")
W = TypeVar("W")

RECONNECT_BACKOFF_MS = RETRY_BACKOFF_MS
TAKE_OVER_BACKOFF_MS = 1_000
FIRST_BALANCE_MS = 5_000


async def _as_it_is() -> None:
    return


def _nothing() -> None:
    return


def _everybody(broker_id: int) -> bool:
    return True


class Controller:
    """One broker's part in controlling the cluster.

    Attributes:
        meters: Its metrics.
    """

    def __init__(
        self,
        broker_id: int,
        registry: Registry,
        clock: Clock,
        timers: Timers,
        sender: Sender,
        listener_name: str,
        settings: Settings,
        register: Callable[[], Awaitable[None]] = _as_it_is,
        admits: Callable[[int], bool] = _everybody,
        *,
        keeps_features: bool = True,
    ) -> None:
        """Args:
        registry: This broker's session; requests interrupted by a lost connection are repeated.
        sender: Owned by the controller.
        listener_name: The inter-broker listener, for the addresses of leaders.
        settings: The broker's current settings.
        register: Ensures that this broker is registered in this session.
        admits: Whether a registered broker belongs to this cluster.
        keeps_features: Whether to write /feature, which Kafka brokers that share the tree require.
        """
        self._broker_id = broker_id
        self._session = registry
        self._registry = PatientRegistry(registry, timers)
        self._clock = clock
        self._timers = timers
        self._sender = sender
        self._listener_name = listener_name
        self._config = settings
        self._register = register
        self._admits = admits
        self._keeps_features = keeps_features
        self._forget_session: Callable[[], None] = _nothing
        self._context: ControllerContext | None = None
        self._events = EventQueue(clock)
        self._task: asyncio.Task[None] | None = None
        # Kept, because the loop itself does not keep its tasks.
        self._stepping_aside: asyncio.Task[None] | None = None
        self._balance_timer: Timer | None = None
        # It failed to take over, and does not stand for election for a while.
        self._is_backing_off = False
        self.meters = Meters()

    @property
    def is_active(self) -> bool:
        """Return whether this broker is the controller."""
        return self._context is not None

    @property
    def state(self) -> ControllerState | None:
        """The controller's state, to be read only; None while another broker is the controller."""
        return None if self._context is None else self._context.state

    @property
    def waiting_count(self) -> int:
        """The number of queued events."""
        return self._events.qsize()

    @property
    def waiting_times(self) -> Durations:
        """How long events waited."""
        return self._events.times

    @property
    def channels(self) -> Iterator[ChannelFigures]:
        """Metrics of the requests to each broker; empty while another broker is the controller."""
        return self._sender.figures()

    @property
    def epoch(self) -> int:
        """The controller epoch; 0 while another broker is the controller."""
        return 0 if self._context is None else self._context.state.epoch

    def address_of(self, broker_id: int, listener_name: str) -> tuple[str, int] | None:
        """Return a listener's address from its broker's registration; None if it has none."""
        broker = None if self._context is None else self._context.state.brokers.get(broker_id)
        for endpoint in () if broker is None else broker.registration.endpoints:
            if endpoint.listener_name == listener_name:
                return endpoint.host, endpoint.port
        return None

    def is_deleting(self, topic: str) -> bool:
        """Return whether a topic is being deleted; False while another broker is the controller."""
        return self._context is not None and topic in self._context.state.deleting

    # Operations on request

    async def carry_out(self, kind: Kind, work: Callable[[ControllerContext], Awaitable[T]]) -> T | None:
        """Execute `work` as the controller, in order with the other events.

        Args:
            kind: The kind under which the event is counted.

        Returns:
            The result of `work`; None: this broker is not the controller (any more).
        """
        value: T | None = await self._ask(kind, work, None).future()
        return value

    def alter_isr(self, request: AlterIsrRequest) -> Pending[AlterIsrResponse]:
        """Write the in-sync replicas that a leader proposes."""
        refusal = AlterIsrResponse(error_code=ErrorCode.NOT_CONTROLLER)
        answer: Pending[AlterIsrResponse] = Pending()

        async def work(context: ControllerContext) -> AlterIsrResponse:
            try:
                await alter_isr(context, request, answer.complete)
            except (ControllerMovedError, RegistryClosedError):
                raise
            except Exception:
                log.exception("cannot write the ISR proposed by broker %d", request.broker_id)
                answer.complete(AlterIsrResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))
            return refusal

        self._ask(Kind.ISR_CHANGE, work, refusal).then(answer.complete, lambda error: answer.complete(refusal))
        return answer

    def controlled_shutdown(self, request: ControlledShutdownRequest) -> Pending[ControlledShutdownResponse]:
        """Move the leaderships of a broker that is about to stop."""
        refusal = ControlledShutdownResponse(ErrorCode.STALE_CONTROLLER_EPOCH)
        return self._ask(Kind.CONTROLLED_SHUTDOWN, lambda context: controlled_shutdown(context, request), refusal)

    def update_features(self, request: UpdateFeaturesRequest) -> Pending[UpdateFeaturesResponse]:
        """Finalize features of the cluster."""
        refusal = UpdateFeaturesResponse(error_code=ErrorCode.NOT_CONTROLLER)
        return self._ask(Kind.UPDATE_FEATURES, lambda context: update_features(context, request), refusal)

    def allow_unclean_leaders(self, topic: str | None = None) -> None:
        """Try again to elect leaders after a setting has changed, of a topic or (None) of all brokers."""
        if self._context is not None:
            self._events.put_nowait(UncleanAllowed(topic))

    def _ask(self, kind: Kind, work: Callable[[ControllerContext], Awaitable[W]], otherwise: W) -> Pending[W]:
        if self._context is None:
            return completed(otherwise)
        answer: Pending[W] = Pending()
        self._events.put_nowait(Asked(kind, work, answer, otherwise))
        return answer

    # Life cycle

    async def start(self) -> None:
        """Stand for election, take over if elected, and start to handle events.

        Returns once this broker has handled the requests to itself, so that its partitions have leaders and its view of
        the cluster is complete. Returns at once if another broker is the controller.
        """
        self._forget_session = self._session.on_session(self._on_session)
        await self._handle(Signal.CONTROLLER_CHANGED)
        self._task = asyncio.get_running_loop().create_task(self._run())
        idle: Pending[None] = Pending()
        self._sender.when_idle(self._broker_id, lambda: idle.complete(None))
        await idle.future()

    async def close(self) -> None:
        """Stop handling events, and let another broker be elected, if there is one.

        The session of this broker ends later. Until then, while it closes its logs, the cluster would have no
        controller.
        """
        self._forget_session()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        state = self.state
        self._resign()
        self._sender.close()
        if state is not None and state.brokers.keys() - {self._broker_id}:
            # differs from Kafka (early-handover): Kafka's controller handles events until its logs are closed.
            # Without waiting: the registry may not answer. The session itself, because it does not retry.
            step = self._step_aside(self._session, state.epoch_zk_version)
            self._stepping_aside = asyncio.get_running_loop().create_task(step)

    def _on_session(self, state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            self._resign()
        elif state is SessionState.CONNECTED:
            self._events.put_nowait(Signal.CONTROLLER_CHANGED)

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
                # Continue with the next event after any error: a stopped controller would be worse.
                log.exception("the controller failed to handle %s", event)
                if self._context is None and not self._is_backing_off:
                    self._is_backing_off = True
                    self._timers.call_later(TAKE_OVER_BACKOFF_MS, self._try_again)
            finally:
                if isinstance(event, Asked):
                    # Only if no answer was given: this broker is no longer the controller.
                    event.answer.complete(event.otherwise)

    async def _handle(self, event: Event) -> None:
        while True:
            kind, begin_ns = kind_of(event), self._clock.monotonic_ns()
            self.meters.state = kind.number
            try:
                if event is Signal.CONTROLLER_CHANGED:
                    await self._stand_for_election()
                elif self._context is not None:
                    await self._handle_as_controller(event, self._context)
                return
            except ControllerMovedError as error:
                log.warning("the registry rejected a write of this controller: %s", error)
                self._resign()
            finally:
                self.meters.state = 0
                self.meters.handled[kind].note(self._clock.monotonic_ns() - begin_ns)
            event = Signal.CONTROLLER_CHANGED

    async def _handle_as_controller(self, event: Event, context: ControllerContext) -> None:
        match event:
            case Signal.CONTROLLER_CHANGED:
                await self._stand_for_election()
            case Signal.BROKERS_CHANGED:
                # This broker's own node may have been deleted.
                await self._register()
                await brokers_changed(context, self._admits)
            case Signal.BROKER_SET:
                await broker_set(context, self._admits)
            case Signal.TOPICS_CHANGED:
                await topics_changed(context)
            case Signal.DELETIONS_CHANGED:
                await deletions_changed(context)
            case Signal.ELECTION_ASKED:
                await elect_as_asked(context)
            case Signal.REASSIGNMENT_ASKED:
                await reassign_as_asked(context)
            case Signal.ISR_NOTIFIED:
                await isr_notified(context)
            case Signal.LOG_DIRS_NOTIFIED:
                await log_dirs_notified(context)
            case Signal.IMBALANCE_DUE:
                try:
                    await balance_leaders(context)
                finally:
                    self._balance_later(self._config.leader_imbalance_check_interval_seconds * 1000)
            case TopicSet(topic):
                await topic_set(context, topic)
            case IsrSet(partition):
                await isr_set(context, partition)
            case LeadersAnswered(broker_id, response):
                await leaders_answered(context, broker_id, response)
            case ReplicasStopped(broker_id, deleted, failed):
                await replicas_stopped(context, broker_id, deleted, failed)
            case UncleanAllowed(topic):
                await bring_waiting_online(context, topic)
            case Asked():
                event.answer.complete(await event.work(context))
            case _:
                assert_never(event)

    # Election

    def _try_again(self) -> None:
        self._is_backing_off = False
        self._events.put_nowait(Signal.CONTROLLER_CHANGED)

    async def _stand_for_election(self) -> None:
        if self._is_backing_off:
            return
        await self._register()
        watch = QueueEvent(self._events, Signal.CONTROLLER_CHANGED)
        incumbent = await current_controller(self._registry, watch)
        if incumbent == (self._broker_id, self._session.session_id):
            if self._context is not None:
                return
            # It was elected without noticing, or could not take over.
            elected: Elected | None = await still_elected(self._registry)
        else:
            self._resign()
            if incumbent is not None:
                return
            elected = await elect(self._registry, self._broker_id, self._clock)
        if elected is None:
            return
        log.info("broker %d is the controller, epoch %d", self._broker_id, elected.epoch)
        self._drop_events()
        self._context = context = ControllerContext(
            self._broker_id,
            ControllerState(elected.epoch, elected.epoch_zk_version),
            self._registry,
            self._sender,
            self._config,
            self._listener_name,
            self._events,
            self.meters,
        )
        try:
            if self._keeps_features:
                await settle_features(context)
            await take_over(context, self._admits)
        except BaseException as error:
            # An incomplete state is unusable.
            self._resign()
            if isinstance(error, Exception) and not isinstance(error, ControllerMovedError | RegistryClosedError):
                await self._step_aside(self._registry, elected.epoch_zk_version)
            raise
        self._balance_later(FIRST_BALANCE_MS)

    async def _step_aside(self, registry: Registry, epoch_zk_version: int) -> None:
        """Delete /controller, so that another broker is elected."""
        try:
            await write_as_controller(registry, epoch_zk_version, [DeleteOp(paths.CONTROLLER)])
        except RegistryClosedError:
            # The node ends with the session.
            pass
        except BarnabasError as error:
            log.warning("cannot delete %s: %s", paths.CONTROLLER, error)

    def _balance_later(self, delay_ms: int) -> None:
        self._stop_balancing()
        if self._context is not None and self._config.auto_leader_rebalance_enable:
            self._balance_timer = self._timers.call_later(delay_ms, self._events.put_nowait, Signal.IMBALANCE_DUE)

    def _stop_balancing(self) -> None:
        if self._balance_timer is not None:
            self._balance_timer.cancel()
            self._balance_timer = None

    def _resign(self) -> None:
        if self._context is None:
            return
        log.info("broker %d is no longer the controller", self._broker_id)
        self._context.end()
        self._context = None
        self._stop_balancing()
        self._drop_events()

    def _drop_events(self) -> None:
        """Drop the queued events of another controller epoch and answer its pending requests.

        Events about the election stay in the queue.
        """
        is_election_due = False
        dropped: list[Any] = []
        while not self._events.empty():
            event = self._events.get_nowait()
            is_election_due = is_election_due or event is Signal.CONTROLLER_CHANGED
            if isinstance(event, Asked):
                dropped.append(event)
        if is_election_due:
            self._events.put_nowait(Signal.CONTROLLER_CHANGED)
        # differs from Kafka (unanswered-proposals): Kafka answers neither AlterIsr nor UpdateFeatures here.
        for asked in dropped:
            asked.answer.complete(asked.otherwise)
