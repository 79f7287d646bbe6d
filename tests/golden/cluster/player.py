"""Plays what happened outside of the controller in a recording, and notes what our controllers send and write."""

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from barnabas.broker.controller.controller import Controller
from barnabas.broker.controller.events import Kind
from barnabas.broker.controller.leaders import Election, elect_leaders
from barnabas.broker.controller.reassignment import reassign
from barnabas.broker.controller.requests import ControlRequest
from barnabas.broker.controller.sender import Delivered, Sender
from barnabas.broker.interbroker.versions import version_of
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.registry.tree import EndSessionOp, Tree, TreeOp, Znode
from barnabas.core.config import BrokerConfig
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartitionData,
    AlterIsrRequestTopicData,
)
from barnabas.wire.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrPartitionError, LeaderAndIsrResponse
from barnabas.wire.protocol.messages.stop_replica import StopReplicaPartitionError, StopReplicaResponse
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataResponse
from barnabas.wire.protocol.wire import Message, Part, WireBuffer
from barnabas.wire.registry import paths
from barnabas.wire.registry.acl import Author
from barnabas.wire.registry.store import (
    ANY_VERSION,
    CheckOp,
    CreateOp,
    DeleteOp,
    Op,
    OpResult,
    RegistryError,
    SetOp,
    Stat,
)
from tests.golden.cluster.recording import CONTROL, Json, Recording, is_refused_or_controllers, request_line, write_line
from tools.codegen.schema import Struct, load_messages

SCHEMAS = load_messages(Path(__file__).resolve().parents[3] / "schemas/messages")
_APIS = {key: name for name, key in CONTROL.items()}
_TURNS = 150


def data_of(value: Json) -> bytes | None:
    """A node's data as the tree has it."""
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else json.dumps(value, separators=(",", ":")).encode()


def session_of(broker_id: object) -> int:
    return broker_id << 16 if isinstance(broker_id, int) else 1 << 40


class NotedSession:
    """A broker's session with the registry; its writes are noted."""

    def __init__(self, registry: EmbeddedRegistry, session_id: int, note: Callable[[Json], object]) -> None:
        self._registry = registry
        self.session_id = session_id
        self._note = note
        self.on_session = registry.on_session
        self.get = registry.get
        self.get_many = registry.get_many
        self.exists = registry.exists
        self.children = registry.children

    async def create(
        self, path: str, data: bytes | None = None, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        (result,) = await self.multi([CreateOp(path, data, ephemeral, sequence)])
        return str(result)

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        (result,) = await self.multi([SetOp(path, data, version)])
        assert isinstance(result, Stat)
        return result

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self.multi([DeleteOp(path, version)])

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        results = await perform(self._registry, ops, self.session_id)
        for op, result in zip(ops, results, strict=True):
            if not isinstance(op, CheckOp):
                self._note(_noted(op, result))
        return results

    async def close(self) -> None:
        return


def _noted(op: Op, result: OpResult) -> Json:
    """An operation as a recording has it."""
    if isinstance(op, DeleteOp):
        return {"op": "delete", "path": op.path}
    assert isinstance(op, CreateOp | SetOp)
    data: Json = None if op.data is None else op.data.decode()
    if data is not None and data.startswith("{"):
        data = json.loads(data)
        if "timestamp" in data:
            data["timestamp"] = "T"
    if isinstance(op, CreateOp):
        return {"op": "create", "path": op.path, "data": data}
    assert isinstance(result, Stat)
    return {"op": "setData", "path": op.path, "data": data, "newVersion": result.version}


async def perform(registry: EmbeddedRegistry, ops: Sequence[TreeOp], session_id: int) -> list[OpResult]:
    """Carry out a transaction in a session."""
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    registry.perform(ops, Author(session_id, None), lambda outcome: answer.set_result(outcome.result))
    result = await answer
    if isinstance(result, RegistryError):
        raise result
    return result


class NotedLink:
    """Notes requests to a broker, and answers as it did; where it did not answer, it never does."""

    def __init__(self, player: "Player", controller_id: int, broker_id: int) -> None:
        self._player = player
        self._controller_id = controller_id
        self._broker_id = broker_id

    def send(self, request: ControlRequest, then: Delivered) -> None:
        self._player.sent(self._controller_id, self._broker_id, request, then)


class Player:
    """One recording, played.

    Attributes:
        requests, writes, answers: As those of a `Recording`; of our controllers.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._protocol = recording.ibp
        self._left = recording.answers()
        self._is_noting = False
        self._controllers: dict[int, Controller] = {}
        self.requests: dict[tuple[int, int], list[str]] = {}
        self.writes: dict[str, list[str]] = {}
        self.answers: dict[str, list[Json]] = {"ALTER_ISR": [], "CONTROLLED_SHUTDOWN": []}
        self.clock = ManualClock()
        self.config = BrokerConfig.single_broker(
            {
                "inter.broker.protocol.version": recording.ibp,
                "log.message.format.version": recording.ibp,
                "auto.leader.rebalance.enable": "false",
            }
        )

    async def play(self) -> None:
        before = dict(self._recording.before)
        incumbent = before.pop(paths.CONTROLLER, None)
        nodes = {path: self._znode(path, node) for path, node in before.items()}
        if incumbent is not None:
            # It takes over in the epoch that it had; what it sends then was sent before the recording begins.
            epoch = nodes[paths.CONTROLLER_EPOCH]
            assert epoch.data is not None
            earlier = str(int(epoch.data) - 1).encode()
            nodes[paths.CONTROLLER_EPOCH] = epoch._replace(data=earlier, version=epoch.version - 1)
        self.registry = EmbeddedRegistry(Tree(nodes), None, self.clock, InlineExecutor())
        if incumbent is not None:
            await self._start_controller(incumbent["data"]["brokerid"])
            for broker_id in self._recording.controllers():
                if broker_id not in self._controllers and paths.broker(broker_id) in nodes:
                    await self._start_controller(broker_id)
        await self._settle()
        self._is_noting = True
        for line in self._recording.lines:
            if "zk" in line:
                await self._transaction(line)
            elif "api" in line and "corr" not in line:
                await self._tool(line)
            elif line.get("api") in self.answers:
                await self._broker_asks(line)
        for controller in self._controllers.values():
            await controller.close()
        await self.registry.close()

    def _znode(self, path: str, node: Json) -> Znode:
        owner = session_of(int(paths.name(path))) if node.get("ephemeral") else 0
        czxid = node.get("czxid", 0)
        return Znode(data_of(node["data"]), czxid, czxid, czxid, 0, 0, node["version"], ephemeral_owner=owner)

    async def _start_controller(self, broker_id: int) -> None:
        session = NotedSession(self.registry, session_of(broker_id), self._note)
        sender = Sender(self.clock, self.clock, partial(NotedLink, self, broker_id))
        controller = self._controllers[broker_id] = Controller(
            broker_id, session, self.clock, self.clock, sender, "PLAINTEXT", self.config
        )
        starting = asyncio.ensure_future(controller.start())
        await self._settle()
        # The broker itself may not have answered yet.
        if not starting.done():
            starting.cancel()

    def _note(self, op: Json) -> None:
        if self._is_noting:
            self.writes.setdefault(op["path"], []).append(write_line(op))

    def sent(self, controller_id: int, broker_id: int, request: ControlRequest, then: Delivered) -> None:
        """A controller sends a request."""
        version = version_of(request.API_KEY, self._protocol)
        api = _APIS[request.API_KEY]
        if not self._is_noting:
            then(_response(api, {"error_code": 0}))
            return
        text = request_line(api, version, _plain(request, version))
        self.requests.setdefault((controller_id, broker_id), []).append(text)
        left = self._left.get((broker_id, api), [])
        if left:
            then(_response(api, left.pop(0)))

    async def _transaction(self, line: Json) -> None:
        by = line["by"]
        if line["zk"] == "createSession" or line.get("path") == "/k":
            return
        if line["zk"] == "closeSession":
            if self.registry.tree.ephemerals(session_of(by)):
                if by in self._controllers:
                    await self._controllers.pop(by).close()
                await perform(self.registry, [EndSessionOp(session_of(by))], session_of(by))
            await self._settle()
            return
        if is_refused_or_controllers(line):
            is_election = any(op.get("path") == paths.CONTROLLER for op in line.get("ops", ()))
            if is_election and by not in self._controllers and not any(op["op"] == "error" for op in line["ops"]):
                await self._start_controller(by)
            return
        tree = self.registry.tree
        tree.zxid = max(tree.zxid, line["zxid"] - 1)
        ops = [_op(op) for op in line.get("ops") or [{**line, "op": line["zk"]}]]
        await perform(self.registry, ops, session_of(by))
        await self._settle()

    async def _tool(self, line: Json) -> None:
        """What a tool asks the controller for; topics are asked for by the nodes that Kafka's broker wrote for it."""
        controller, body = self._controllers.get(line["to"]), line["body"]
        if controller is None:
            return
        work: Any = None
        if line["api"] == "ALTER_PARTITION_REASSIGNMENTS":
            wanted = {
                TopicPartition(topic["name"], each["partition_index"]): each["replicas"]
                for topic in body["topics"]
                for each in topic["partitions"]
            }
            work = controller.carry_out(Kind.PARTITION_REASSIGNMENT, lambda context: reassign(context, wanted))
        elif line["api"] == "ELECT_LEADERS":
            assert controller.state is not None
            named = body["topic_partitions"]
            partitions = (
                list(controller.state.leaders)
                if named is None
                else [TopicPartition(topic["topic"], index) for topic in named for index in topic["partition_id"]]
            )
            election = Election(body["election_type"])
            work = controller.carry_out(
                Kind.MANUAL_LEADER_BALANCE, lambda context: elect_leaders(context, partitions, election)
            )
        if work is not None:
            done = asyncio.ensure_future(work)
            await self._settle()
            assert done.done()
            done.result()

    async def _broker_asks(self, line: Json) -> None:
        controller, body, api = self._controllers.get(line["to"]), line["body"], line["api"]
        if controller is None:
            return
        if api == "CONTROLLED_SHUTDOWN":
            controller.controlled_shutdown(
                ControlledShutdownRequest(body["broker_id"], body.get("broker_epoch", -1))
            ).then(lambda response: self.answers[api].append(_plain(response, 3)))
        else:
            controller.alter_isr(_alter_isr(body)).then(lambda response: self.answers[api].append(_plain(response, 0)))
        await self._settle()

    async def _settle(self) -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)


def _op(op: Json) -> Op:
    data = data_of(op.get("data"))
    match op["op"]:
        case "create":
            return CreateOp(op["path"], data, is_ephemeral=op.get("ephemeral", False))
        case "setData":
            return SetOp(op["path"], data)
        case "delete":
            return DeleteOp(op["path"])
        case _:
            return CheckOp(op["path"], op["expected"])


def _alter_isr(body: Json) -> AlterIsrRequest:
    topics = [
        AlterIsrRequestTopicData(
            topic["name"],
            [
                AlterIsrRequestPartitionData(
                    each["partition_index"], each["leader_epoch"], each["new_isr"], each["current_isr_version"]
                )
                for each in topic["partitions"]
            ],
        )
        for topic in body["topics"]
    ]
    return AlterIsrRequest(body["broker_id"], body["broker_epoch"], topics)


def _response(api: str, body: Json) -> Any:
    errors = [
        (each["topic_name"], each["partition_index"], each["error_code"]) for each in body.get("partition_errors", ())
    ]
    if api == "LEADER_AND_ISR":
        return LeaderAndIsrResponse(body["error_code"], [LeaderAndIsrPartitionError(*each) for each in errors])
    if api == "STOP_REPLICA":
        return StopReplicaResponse(body["error_code"], [StopReplicaPartitionError(*each) for each in errors])
    return UpdateMetadataResponse(body["error_code"])


def _plain(message: Message, version: int) -> Json:
    """What whoever reads a message in a version sees: the fields that the version has room for."""
    encoded = WireBuffer()
    message.encode(version, encoded)
    read, _ = type(message).decode(version, memoryview(bytes(encoded)), 0)
    return _fields(SCHEMAS[message.SCHEMA_NAME].struct, read, version)


def _fields(struct: Struct, part: Part, version: int) -> Json:
    found = {}
    for field in struct.fields:
        if version in field.versions:
            value, inner = getattr(part, field.name), field.struct
            if inner is not None and isinstance(value, list):
                value = [_fields(inner, each, version) for each in value]
            found[field.name] = value
    return found
