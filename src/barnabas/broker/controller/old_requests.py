"""What Kafka's old tools ask the controller for by nodes of their own: elections and reassignments.

    /admin/preferred_replica_election   {"version":1,"partitions":[{"topic":"t","partition":0}]}
    /admin/reassign_partitions          {"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}

Invariants:

- A node is deleted when all that it asks for is done or refused, since the tools ask for nothing more before that; of a
  reassignment that goes on its entry stays.
- What makes no sense is dropped with a warning.

Source: zookeeper.md, admin requests through ZooKeeper; Kafka 2.7.2, KafkaController.processZkPartitionReassignment,
PreferredReplicaLeaderElection.
"""

import logging
from collections.abc import Sequence

from barnabas.broker.controller.epoch_guard import write_as_controller
from barnabas.broker.controller.leaders import Election, elect_leaders
from barnabas.broker.controller.reassignment import reassign, reassignments
from barnabas.broker.controller.state import ControllerState
from barnabas.broker.controller.work import Outcome
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import delete_with_children
from barnabas.wire.registry.store import BadVersionError, DeleteOp, NoNodeError, Op, Registry, SetOp, Stat, Watch
from barnabas.wire.registry.znodes.admin_requests import (
    decode_election,
    decode_reassignment,
    encode_reassignment,
)
from barnabas.wire.registry.znodes.payload import MalformedError

log = logging.getLogger(__name__)


async def elect_as_asked(registry: Registry, state: ControllerState, watch: Watch) -> Outcome[None]:
    """Elect preferred leaders as /admin/preferred_replica_election asks; `watch` is told when it asks again.

    Raises:
        ControllerMovedError: This broker is controller no more.
    """
    path = paths.PREFERRED_ELECTION
    asked = await _read(registry, path, watch)
    if asked is None:
        return Outcome(None)
    data, stat = asked
    try:
        partitions = decode_election(data)
    except MalformedError as error:
        log.warning("%s is dropped: %s", path, error)
        partitions = []
    elected = await elect_leaders(registry, state, partitions, Election.PREFERRED)
    for partition, result in elected.value.items():
        if result.error_code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED):
            log.warning("%s asks for partition %s: %s", path, partition, result.message)
    await _write(registry, state, DeleteOp(path, stat.version))
    return Outcome(None, elected.changed, elected.removed)


async def reassign_as_asked(registry: Registry, state: ControllerState, watch: Watch) -> Outcome[None]:
    """Begin the reassignments that /admin/reassign_partitions asks for; `watch` is told when it is written.

    Raises:
        ControllerMovedError: This broker is controller no more.
    """
    path = paths.REASSIGNMENT
    asked = await _read(registry, path, watch)
    if asked is None:
        return Outcome(None)
    data, stat = asked
    try:
        wanted = decode_reassignment(data)
    except MalformedError as error:
        log.warning("%s is dropped: %s", path, error)
        wanted = {}
    # What is under way to the same brokers is not begun again.
    moving = reassignments(state)
    new: dict[TopicPartition, Sequence[int] | None] = {
        partition: target
        for partition, target in wanted.items()
        if partition not in moving or moving[partition].target != list(target)
    }
    begun = await reassign(registry, state, new)
    for partition, result in begun.value.items():
        if result.error_code != ErrorCode.NONE:
            log.warning("%s asks for partition %s: %s", path, partition, result.message or result.error_code.name)
    left = {partition: wanted[partition] for partition in reassignments(state) if partition in wanted}
    if left != wanted or not left:
        await _write(
            registry,
            state,
            SetOp(path, encode_reassignment(left), stat.version) if left else DeleteOp(path, stat.version),
        )
    return Outcome(None, begun.changed, begun.removed)


async def _read(registry: Registry, path: str, watch: Watch) -> tuple[bytes | None, Stat] | None:
    if await registry.exists(path, watch) is None:
        return None
    try:
        for name in await registry.children(path):
            log.warning("%s has a child that means nothing, and is deleted: %.300s", path, name)
            await delete_with_children(registry, paths.child(path, name))
        return await registry.get(path)
    except NoNodeError:
        return None


async def _write(registry: Registry, state: ControllerState, op: Op) -> None:
    """Write a request anew, unless somebody else did meanwhile: of that the watch tells."""
    try:
        await write_as_controller(registry, state.epoch_zk_version, [op])
    except (NoNodeError, BadVersionError):
        log.info("%s was written again while it was dealt with", op.path)
