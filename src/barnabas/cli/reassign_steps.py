"""Reassignments: start, verify and cancel, by the rules of Kafka's tool.

First the throttles are set, if any. Then the controller receives a request to reassign the partitions of the file. Then
each broker receives a request to move the replicas for which the file names a log directory. The request is repeated
for replicas that the broker does not have yet.

Source: cli page, kafka-reassign-partitions; KIP-113, KIP-455.
"""

import asyncio
from typing import Final, NamedTuple

from barnabas.cli.output import progress
from barnabas.cli.reassign_plan import ANY, Plan, ReplicaLocation, current_locations, current_replicas
from barnabas.cli.reassign_progress import Progress, measure_progress
from barnabas.cli.reassign_throttles import NO_THROTTLES, Throttles, set_throttles
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition

_PAUSE_S: Final = 0.1
# Errors of a broker that does not have a replica yet.
_LATER: Final = (ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class MoveState(NamedTuple):
    """The state of a partition or of one of its replicas: `done`, `moving` or `wrong`, with the reason.

    Attributes:
        progress: The progress of a move.
    """

    what: str
    state: str
    detail: str = ""
    progress: Progress | None = None

    @property
    def text(self) -> str:
        match self.state:
            case "done":
                return "is complete."
            case "moving":
                return "is still in progress." if self.progress is None else f"is still in progress: {self.progress}."
        return f"is not active, but {self.detail}."


async def execute_plan(
    admin: ReplicaAdmin, plan: Plan, *, additional: bool, throttles: Throttles = NO_THROTTLES
) -> None:
    """Start to move replicas; `verify_plan` reports when they are complete.

    Raises:
        BarnabasError: A move or cancellation was refused; the message names the partition and the reason.
    """
    brokers = set((await admin.retry(lambda: admin.pool.metadata([]))).brokers)
    for partition, target in plan.items():
        unknown = sorted(set(target.replicas) - brokers)
        if unknown:
            raise BarnabasError(f"{partition}: broker {unknown[0]} does not exist")
    if not additional and await admin.reassignments():
        raise BarnabasError(
            "other partitions are being reassigned: wait (barnabas reassign --list shows them), or add --additional"
        )
    if throttles != NO_THROTTLES:
        await set_throttles(admin, plan, await current_replicas(admin, plan), throttles, brokers)
    answers = await admin.alter_reassignments({partition: target.replicas for partition, target in plan.items()})
    refused = [f"{partition}: {answer.message}" for partition, answer in sorted(answers.items()) if answer.code]
    if refused:
        raise BarnabasError(f"not reassigned: {'; '.join(refused)}")
    await _move_logs(admin, plan)


async def verify_plan(admin: ReplicaAdmin, plan: Plan) -> list[MoveState]:
    """Return the state of each partition, and of each replica with a log directory in the file. Raises KafkaError."""
    replicas = await current_replicas(admin, plan)
    moving = await admin.reassignments(plan)
    wanted_dirs = _directories(plan)
    copied = await measure_progress(admin, moving, wanted_dirs)
    states = []
    for partition, target in plan.items():
        what = f"partition {partition}"
        if partition in moving:
            states.append(MoveState(what, "moving", progress=copied.between_brokers.get(partition)))
        elif replicas[partition] == target.replicas:
            states.append(MoveState(what, "done"))
        else:
            is_, wanted = (",".join(map(str, ids)) for ids in (replicas[partition], target.replicas))
            states.append(MoveState(what, "wrong", f"its replicas are {is_} rather than {wanted}"))
    places = await current_locations(admin, plan, wanted_dirs) if wanted_dirs else []
    for broker, directories in wanted_dirs.items():
        for partition, path in directories.items():
            state = _log_state(broker, partition, path, places)
            if state.state == "moving":
                state = state._replace(progress=copied.between_log_dirs.get((broker, partition)))
            states.append(state)
    return states


async def cancel_moves(admin: ReplicaAdmin, plan: Plan) -> list[str]:
    """Cancel the moves of the given partitions; return the names of those that were moving.

    Raises:
        BarnabasError: A move or cancellation was refused; the message names the partition and the reason.
    """
    moving = await admin.reassignments(plan)
    answers = await admin.alter_reassignments(dict.fromkeys(moving)) if moving else {}
    # A reassignment that completed meanwhile cannot be cancelled.
    gone = (ErrorCode.NONE, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    refused = [f"{part}: {answer.message}" for part, answer in sorted(answers.items()) if answer.code not in gone]
    if refused:
        raise BarnabasError(f"not cancelled: {'; '.join(refused)}")
    cancelled = [str(partition) for partition, answer in sorted(answers.items()) if not answer.code]
    # A request for a log's present directory cancels its move.
    wanted_dirs = _directories(plan)
    places = await current_locations(admin, plan, wanted_dirs) if wanted_dirs else []
    here = {(place.broker, place.log.partition): place.directory for place in places if not place.log.is_future}
    for place in places:
        if place.log.is_future and (place.broker, place.log.partition) in here:
            partition = place.log.partition
            await admin.alter_log_dirs(place.broker, {partition: here[place.broker, partition]})
            cancelled.append(f"{partition}-{place.broker}")
    return cancelled


def _directories(plan: Plan) -> dict[int, dict[TopicPartition, str]]:
    """Return the log directories of the file, by broker and partition."""
    wanted: dict[int, dict[TopicPartition, str]] = {}
    for partition, target in plan.items():
        for broker, path in zip(target.replicas, target.log_dirs, strict=True):
            if path != ANY:
                wanted.setdefault(broker, {})[partition] = path
    return wanted


def _log_state(broker: int, partition: TopicPartition, path: str, places: list[ReplicaLocation]) -> MoveState:
    what = f"replica {partition}-{broker}"
    logs = {p.log.is_future: p.directory for p in places if p.broker == broker and p.log.partition == partition}
    if logs.get(False) == path and True not in logs:
        return MoveState(what, "done")
    if logs.get(True) == path:
        return MoveState(what, "moving")
    if True in logs:
        return MoveState(what, "wrong", f"it is moving to {logs[True]} rather than {path}")
    place = f"is in {logs[False]}" if False in logs else "is not there"
    return MoveState(what, "wrong", f"it {place} rather than in {path}")


async def _move_logs(admin: ReplicaAdmin, plan: Plan) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + admin.timeout_ms / 1000
    left = _directories(plan)
    count = sum(map(len, left.values()))
    with progress("Asking brokers to move logs", count) as bar:
        while left:
            for broker in list(left):
                answers = await admin.alter_log_dirs(broker, left[broker])
                refused = [f"{part}: {code.name}" for part, code in sorted(answers.items()) if code not in (0, *_LATER)]
                if refused:
                    raise BarnabasError(f"broker {broker} refused to move {'; '.join(refused)}")
                left[broker] = {part: left[broker][part] for part, code in answers.items() if code}
                if not left[broker]:
                    del left[broker]
            bar.set(count - sum(map(len, left.values())), "")
            if left and loop.time() >= deadline:
                parts = ", ".join(str(part) for directories in left.values() for part in directories)
                raise BarnabasError(f"brokers do not have these replicas yet, so their logs cannot move: {parts}")
            if left:
                await asyncio.sleep(_PAUSE_S)
