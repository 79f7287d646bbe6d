"""A consumer's membership in its group: its registration, its partitions, and the watches that trigger rebalances.

The shell of `state.py`: one task takes the next step. The steps of a rebalance:

    look     read and watch the group's members and the partitions
    stop     the fetchers, clear the streams, store the offsets of consumed messages (`Consumption.stop`)
    release  the owner nodes
    claim    create the owner nodes of the new assignment; if another member still owns one, the attempt ends
    start    the fetchers at the stored offsets (`Consumption.start`)

The member watches the group's ids, each topic that it reads, the list of topics (if a member has a topic filter), and
the brokers. After each watch event and each lost connection, it reads everything again.

Invariants:

- Partitions are read only between claim and release. An expired session ends reading at once, before the next session
  does anything.
- An owner node is deleted only by the member whose session created it.

Source: implementation document, distribution; Kafka 0.8.2.2, ZookeeperConsumerConnector; zookeeper.md.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, Protocol

from barnabas.api.connector.assignment import Assignment
from barnabas.api.connector.errors import ConsumerRebalanceFailedError
from barnabas.api.connector.group_reader import GroupReader
from barnabas.api.connector.group_view import share_of
from barnabas.api.connector.state import MemberState, Registration, Step
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.store import (
    ConnectionLostError,
    DeleteOp,
    NodeExistsError,
    NoNodeError,
    Registry,
    RegistryClosedError,
    RegistryError,
    SessionState,
    WatchEvent,
)
from barnabas.wire.registry.znodes.consumers import Subscription, encode_owner, encode_subscription

log = logging.getLogger(__name__)


class OwnedByAnotherError(BarnabasError):
    """Another member owns a node that this member wants to create."""


class Consumption(Protocol):
    """Reads the partitions that a member owns."""

    async def start(self, assignment: Assignment) -> None:
        """Read these partitions from their stored offsets on. Raises BarnabasError."""
        ...

    async def stop(self) -> None:
        """Stop reading, pass no more messages on, and store the consumed offsets.

        Raises:
            BarnabasError: The offsets could not be stored; reading has stopped all the same.
        """
        ...

    def drop(self) -> None:
        """Stop at once and store no offsets: another member owns the partitions."""
        ...

    def note_brokers(self) -> None:
        """Refresh the brokers, which have changed."""
        ...


@dataclass(slots=True, frozen=True)
class MembershipOptions:
    """The settings of a connector that concern its membership.

    Attributes:
        max_retries: rebalance.max.retries.
        backoff_ms: rebalance.backoff.ms.
        strategy: partition.assignment.strategy.
        excludes_internal: exclude.internal.topics.
    """

    max_retries: int
    backoff_ms: int
    strategy: str
    excludes_internal: bool


class Membership:
    """One consumer in one group, from `join` to `leave`."""

    def __init__(
        self,
        registry: Registry,
        group_id: str,
        registration: Registration,
        subscription: Subscription,
        consumption: Consumption,
        options: MembershipOptions,
    ) -> None:
        """Args:
        registry: The session that owns the ephemeral nodes; the caller closes it after `leave`.
        registration: The consumer's registration, with a unique name. The membership updates its epoch.
        """
        self.group_id: Final = group_id
        self.consumer: Final = paths.name(registration.path)
        self._registry = registry
        self._registration = registration
        self._subscription = subscription
        self._consumption = consumption
        self._options = options
        self._state = MemberState(options.max_retries)
        self._reader = GroupReader(
            registry, group_id, subscription, options.excludes_internal, self._note_change, self._note_brokers
        )
        # Partitions whose owner nodes may exist; and those that are read in this session.
        self._claimed: Assignment = {}
        self._held: Assignment | None = None
        self._forget_session = registry.on_session(self._note_session)
        self._wake = asyncio.Event()
        self._first_round: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    async def join(self) -> None:
        """Register and run the first rebalance.

        Raises:
            ConsumerRebalanceFailedError: All rebalance.max.retries attempts failed. The caller must still call `leave`.
        """
        self._task = asyncio.get_running_loop().create_task(self._work())
        self._task.add_done_callback(self._note_end)
        await asyncio.shield(self._first_round)

    async def leave(self) -> None:
        """Stop reading, store the offsets, and release the partitions and the registration.

        Raises:
            BarnabasError: The offsets could not be stored; the member has left all the same.
        """
        self._forget_session()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if not self._first_round.done():
            self._first_round.cancel()
        try:
            await self._consumption.stop()
        finally:
            self._held = None
            try:
                await self._release()
                await self._delete_own(self._registration.path)
            except RegistryError as error:
                # The nodes are deleted when the session ends.
                log.debug("%s: left without its nodes: %s", self.consumer, error)

    def _note_end(self, task: "asyncio.Task[None]") -> None:
        """Handle the end of the task, which ends by itself only after a bug or if the registry was closed."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        self._held = None
        self._consumption.drop()
        if self._first_round.done():
            log.error("%s: left its group: %s", self.consumer, error, exc_info=error)
        else:
            self._first_round.set_exception(error)

    def _note_session(self, state: SessionState) -> None:
        match state:
            case SessionState.SUSPENDED:
                self._state.note_suspended()
            case SessionState.EXPIRED:
                log.warning("%s: the session with the registry expired", self.consumer)
                self._state.note_expired()
                self._registration.epoch = self._state.epoch
                self._held = None
                self._consumption.drop()
            case SessionState.CONNECTED:
                self._state.note_connected()
        self._wake.set()

    def _note_change(self, event: WatchEvent) -> None:
        self._state.note_change()
        self._wake.set()

    def _note_brokers(self, event: WatchEvent) -> None:
        self._consumption.note_brokers()
        self._note_change(event)

    async def _work(self) -> None:
        while True:
            self._wake.clear()
            step = self._state.next_step
            if step is Step.NOTHING:
                if self._state.is_settled and not self._first_round.done():
                    self._first_round.set_result(None)
                await self._wake.wait()
            elif step is Step.BACK_OFF:
                await asyncio.sleep(self._options.backoff_ms / 1000)
                self._state.note_backed_off()
            else:
                await self._try(step)

    async def _try(self, step: Step) -> None:
        epoch = self._state.epoch
        try:
            if step is Step.REGISTER:
                await self._register()
                self._state.note_registered(epoch)
            else:
                self._state.begin_rebalance()
                await self._rebalance(epoch)
                self._state.note_rebalanced(epoch)
        except RegistryClosedError:
            raise
        except BarnabasError as error:
            log.info("%s: could not %s: %s", self.consumer, step.value, error)
            if self._state.note_failed(epoch):
                text = f"{self.consumer} can't {step.value} after {self._options.max_retries} tries: {error}"
                if self._first_round.done():
                    # differs from Kafka (failed-rebalance): the member retries without waiting for the next change.
                    log.error("%s; it keeps trying", text)
                else:
                    self._first_round.set_exception(ConsumerRebalanceFailedError(text))

    async def _register(self) -> None:
        """Create the node below ids. Raises OwnedByAnotherError, RegistryError."""
        path, data = self._registration.path, encode_subscription(self._subscription)
        await self._make_parent(paths.parent(path))
        try:
            await self._registry.multi(self._registration.ops(data))
        except NodeExistsError:
            await self._check_own(path, data)

    async def _rebalance(self, epoch: int) -> None:
        view = await self._reader.read()
        if not view.has_brokers:
            log.warning("%s: no broker is registered: the group waits for one", self.consumer)
            return
        share = share_of(self.consumer, view, self._options.strategy, self._options.excludes_internal)
        # differs from Kafka (kept-share): an unchanged share is kept, not released and claimed again.
        if share == self._held and await self._has_its_nodes(share):
            return
        self._held = None
        try:
            await self._consumption.stop()
        except BarnabasError as error:
            # As in Kafka: the next owner begins at the offset stored before.
            log.warning("%s: the offsets before a rebalance were not stored: %s", self.consumer, error)
        await self._release()
        for topic in {partition.topic for partition in share}:
            await self._make_parent(paths.parent(paths.consumer_owner(self.group_id, topic, 0)))
        try:
            for partition, thread in sorted(share.items()):
                # Record the claim first, because a failed request may have been executed.
                self._claimed[partition] = thread
                await self._claim(self._owner_path(partition), encode_owner(thread))
            self._check_epoch(epoch)
            # differs from Kafka (offsets-after-the-claim): offsets are read after the claim, so they are the last ones
            # that the previous owner stored.
            await self._consumption.start(share)
            self._check_epoch(epoch)
        except BarnabasError:
            self._consumption.drop()
            await self._release()
            raise
        self._held = share
        log.info("%s: owns %s", self.consumer, ", ".join(map(str, sorted(share))) or "nothing")

    def _check_epoch(self, epoch: int) -> None:
        if epoch != self._state.epoch:
            raise ConnectionLostError(paths.consumer_ids(self.group_id))

    async def _make_parent(self, path: str) -> None:
        if await self._registry.exists(path) is None:
            try:
                await create_with_parents(self._registry, path)
            except NodeExistsError:
                return

    async def _claim(self, path: str, data: bytes) -> None:
        """Create an owner node. Raises OwnedByAnotherError."""
        try:
            await self._registry.create(path, data, ephemeral=True)
        except NodeExistsError:
            await self._check_own(path, data)

    async def _check_own(self, path: str, data: bytes) -> None:
        """Raise OwnedByAnotherError unless this session created the node without receiving the answer."""
        try:
            found, stat = await self._registry.get(path)
        except NoNodeError:
            raise OwnedByAnotherError(f"{path} was another's a moment ago") from None
        if stat.ephemeral_owner != self._registry.session_id or found != data:
            # The node may also belong to this member's expired session; then it is deleted soon.
            raise OwnedByAnotherError(f"{path} is {(found or b'').decode(errors='replace')[:200]}'s")

    async def _has_its_nodes(self, share: Assignment) -> bool:
        """Return whether all claimed nodes still exist: an operator or another consumer may delete them."""
        nodes = await self._registry.get_many([self._owner_path(partition) for partition in share])
        session_id = self._registry.session_id
        return all(node is not None and node[1].ephemeral_owner == session_id for node in nodes)

    async def _release(self) -> None:
        for partition in sorted(self._claimed):
            await self._delete_own(self._owner_path(partition))
            del self._claimed[partition]

    async def _delete_own(self, path: str) -> None:
        """Delete a node if this session created it; it may be gone or belong to another member.

        Raises RegistryError.
        """
        try:
            _, stat = await self._registry.get(path)
        except NoNodeError:
            return
        if stat.ephemeral_owner == self._registry.session_id:
            # The fence, because the request may wait for a connection of another session, and then the node may belong
            # to another member.
            await self._registry.multi([self._registration.fence, DeleteOp(path, stat.version)])

    def _owner_path(self, partition: TopicPartition) -> str:
        return paths.consumer_owner(self.group_id, partition.topic, partition.partition)
