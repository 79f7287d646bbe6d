"""A reassignment: begun, looked after and cancelled, by the rules of Kafka's tool.

Brokers first, after throttles if there are to be some: the controller is asked to reassign whatever partitions the file
names. Then log directories: each broker is asked to move the replicas of which the file names one; what a broker does
not have yet it is asked for again.

Source: cli page, kafka-reassign-partitions; KIP-113, KIP-455.
"""

import asyncio
from typing import Final, NamedTuple

from barnabas.cli.output import progress
from barnabas.cli.reassign_plan import ANY, Plan, ReplicaPlace, current_places, current_replicas
from barnabas.cli.reassign_progress import Progress, measure_progress
from barnabas.cli.reassign_throttles import NO_THROTTLES, Throttles, set_throttles
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition

_PAUSE_S: Final = 0.1
# A broker that does not have a replica yet, or is about to.
_LATER: Final = (ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class MoveState(NamedTuple):
    """How far a partition or one of its replicas is: `done`, `moving` or `wrong`, and why that.

    Attributes:
        progress: Of what is moving.
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
    """Have replicas moved; that they are there is for `verify_plan` to say.

    Raises:
        BarnabasError: It was refused; says which partition and why.
    """
    brokers = set((await admin.retry(lambda: admin.pool.metadata([]))).brokers)
    for partition, target in plan.items():
        unknown = sorted(set(target.replicas) - brokers)
        if unknown:
            raise BarnabasError(f"{partition}: there is no broker {unknown[0]}")
    if not additional and await admin.reassignments():
        raise BarnabasError(
            "other partitions are being reassigned: wait (barnabas reassign --list shows them), or say --additional"
        )
    if throttles != NO_THROTTLES:
        await set_throttles(admin, plan, await current_replicas(admin, plan), throttles, brokers)
    answers = await admin.alter_reassignments({partition: target.replicas for partition, target in plan.items()})
    refused = [f"{partition}: {answer.message}" for partition, answer in sorted(answers.items()) if answer.code]
    if refused:
        raise BarnabasError(f"not reassigned: {'; '.join(refused)}")
    await _move_logs(admin, plan)


async def verify_plan(admin: ReplicaAdmin, plan: Plan) -> list[MoveState]:
    """Find out how far each partition is, and each replica whose log directory the file names. Raises KafkaError."""
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
    places = await current_places(admin, plan, wanted_dirs) if wanted_dirs else []
    for broker, directories in wanted_dirs.items():
        for partition, path in directories.items():
            state = _log_state(broker, partition, path, places)
            if state.state == "moving":
                state = state._replace(progress=copied.between_log_dirs.get((broker, partition)))
            states.append(state)
    return states


async def cancel_moves(admin: ReplicaAdmin, plan: Plan) -> list[str]:
    """Stop what moves of the partitions; which those were, by name.

    Raises:
        BarnabasError: It was refused; says which partition and why.
    """
    moving = await admin.reassignments(plan)
    answers = await admin.alter_reassignments(dict.fromkeys(moving)) if moving else {}
    # One that ended meanwhile is no longer there to be cancelled.
    gone = (ErrorCode.NONE, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    refused = [f"{part}: {answer.message}" for part, answer in sorted(answers.items()) if answer.code not in gone]
    if refused:
        raise BarnabasError(f"not cancelled: {'; '.join(refused)}")
    cancelled = [str(partition) for partition, answer in sorted(answers.items()) if not answer.code]
    # A log goes nowhere when it is asked for where it is.
    wanted_dirs = _directories(plan)
    places = await current_places(admin, plan, wanted_dirs) if wanted_dirs else []
    here = {(place.broker, place.log.partition): place.directory for place in places if not place.log.is_future}
    for place in places:
        if place.log.is_future and (place.broker, place.log.partition) in here:
            partition = place.log.partition
            await admin.alter_log_dirs(place.broker, {partition: here[place.broker, partition]})
            cancelled.append(f"{partition}-{place.broker}")
    return cancelled


def _directories(plan: Plan) -> dict[int, dict[TopicPartition, str]]:
    """The log directories that are named, by broker and partition."""
    wanted: dict[int, dict[TopicPartition, str]] = {}
    for partition, target in plan.items():
        for broker, path in zip(target.replicas, target.log_dirs, strict=True):
            if path != ANY:
                wanted.setdefault(broker, {})[partition] = path
    return wanted


def _log_state(broker: int, partition: TopicPartition, path: str, places: list[ReplicaPlace]) -> MoveState:
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
                    raise BarnabasError(f"broker {broker} does not move {'; '.join(refused)}")
                left[broker] = {part: left[broker][part] for part, code in answers.items() if code}
                if not left[broker]:
                    del left[broker]
            bar.set(count - sum(map(len, left.values())), "")
            if left and loop.time() >= deadline:
                parts = ", ".join(str(part) for directories in left.values() for part in directories)
                raise BarnabasError(f"brokers do not have the replicas yet, whose logs shall move: {parts}")
            if left:
                await asyncio.sleep(_PAUSE_S)
