"""Elections and reassignments that Kafka's old tools request from the controller through znodes.

    /admin/preferred_replica_election   {"version":1,"partitions":[{"topic":"t","partition":0}]}
    /admin/reassign_partitions          {"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}

Invariants:

- A node is deleted when its whole request is done or rejected, since the tools send no other request before that. A
  reassignment keeps its entry until it is complete.
- Malformed requests are ignored with a warning.

Source: zookeeper.md, admin requests through ZooKeeper; Kafka 2.7.2, KafkaController.processZkPartitionReassignment,
PreferredReplicaLeaderElection.
"""

import logging
from collections.abc import Sequence

from barnabas.broker.controller.context import ControllerContext
from barnabas.broker.controller.events import Signal
from barnabas.broker.controller.leaders import Election, elect_leaders
from barnabas.broker.controller.reassignment import begin_reassignments
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import delete_with_children
from barnabas.wire.registry.store import BadVersionError, DeleteOp, NoNodeError, Op, SetOp, Stat
from barnabas.wire.registry.znodes.admin_requests import (
    decode_election,
    decode_reassignment,
    encode_reassignment,
)
from barnabas.wire.registry.znodes.payload import MalformedError

log = logging.getLogger(__name__)


async def elect_as_asked(context: ControllerContext) -> None:
    """Elect preferred leaders as /admin/preferred_replica_election requests, and set the watch again.

    Raises:
        ControllerMovedError: This broker is no longer the controller.
    """
    path = paths.PREFERRED_ELECTION
    asked = await _read(context, path, Signal.ELECTION_ASKED)
    if asked is None:
        return
    data, stat = asked
    try:
        partitions = decode_election(data)
    except MalformedError as error:
        log.warning("%s ignored: %s", path, error)
        partitions = []
    for partition, result in (await elect_leaders(context, partitions, Election.PREFERRED)).items():
        if result.error_code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED):
            log.warning("%s: partition %s: %s", path, partition, result.message)
    await _write(context, DeleteOp(path, stat.version))


async def reassign_as_asked(context: ControllerContext) -> None:
    """Begin the reassignments of /admin/reassign_partitions and set the watches again, including one on its data.

    Raises:
        ControllerMovedError: This broker is no longer the controller.
    """
    # differs from Kafka (added-reassignments): Kafka reads the node only when it is created.
    path = paths.REASSIGNMENT
    asked = await _read(context, path, Signal.REASSIGNMENT_ASKED)
    if asked is None:
        return
    try:
        wanted = decode_reassignment(asked[0])
    except MalformedError as error:
        log.warning("%s ignored: %s", path, error)
        await _write(context, DeleteOp(path, asked[1].version))
        return
    # A reassignment to the same brokers that is in progress is not started again.
    moving = context.state.reassignments()
    new: dict[TopicPartition, Sequence[int] | None] = {
        partition: target
        for partition, target in wanted.items()
        if partition not in moving or moving[partition].target != list(target)
    }
    refused = set()
    for partition, result in (await begin_reassignments(context, new)).items():
        if result.error_code != ErrorCode.NONE:
            log.warning("%s: partition %s: %s", path, partition, result.message or result.error_code.name)
            # After an unexpected error it may be under way.
            if result.error_code != ErrorCode.UNKNOWN_SERVER_ERROR:
                refused.add(partition)
    # Completed reassignments have already removed their entries.
    now = await _read(context, path, Signal.REASSIGNMENT_ASKED)
    if now is None or now[0] is None:
        return
    data, stat = now
    try:
        entries = decode_reassignment(data)
    except MalformedError:
        return
    moving = context.state.reassignments()
    left = {
        partition: target
        for partition, target in entries.items()
        if partition not in refused and (partition in moving or partition not in new)
    }
    if left != entries or not left:
        await _write(
            context, SetOp(path, encode_reassignment(left), stat.version) if left else DeleteOp(path, stat.version)
        )


async def _read(context: ControllerContext, path: str, signal: Signal) -> tuple[bytes | None, Stat] | None:
    if await context.registry.exists(path, context.watch(signal)) is None:
        return None
    try:
        for name in await context.registry.children(path):
            log.warning("%s has an unknown child, which is deleted: %.300s", path, name)
            await delete_with_children(context.registry, paths.child(path, name))
        return await context.registry.get(path)
    except NoNodeError:
        return None


async def _write(context: ControllerContext, op: Op) -> None:
    """Rewrite a request, unless it has changed: then the watch fires."""
    try:
        await context.write([op])
    except (NoNodeError, BadVersionError):
        log.info("%s changed while it was processed", op.path)
