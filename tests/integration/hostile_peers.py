"""What hostile peers send: mutated and random frames, half of a frame, requests that ask for very much.

Shared by the tests, which show that nobody else is harmed, and by `scripts/bench --hostile`, which measures for how
long the event loop was held up.
"""

import contextlib
import json
import random
import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from barnabas.testing import Broker
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.batch import HEADER, HEADER_BYTES, LOG_OVERHEAD, MAGIC, Codec, set_crc
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.compression import compress
from barnabas.wire.records.message_set import MessageSetBuilder
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES
from tests.compat import raw
from tests.patience import PATIENCE_S

VECTORS = Path(__file__).parent.parent / "golden" / "message-vectors.tsv"
SCHEMAS = Path(__file__).parent.parent.parent / "schemas" / "messages"
BURST_COUNT = 20
# In one request; a little below the limit for array elements.
MANY = range(90_000)

# A record without key, value and headers: as many of them as can be.
_SMALLEST_RECORD = bytes((12, 0, 0, 0, 1, 1, 0))
_OLD_MESSAGES_BYTES = 50_000_000


def golden_frames() -> list[bytes]:
    """Every request of the golden vectors as a frame without its size."""
    keys: dict[str, tuple[int, int | None]] = {}
    for path in SCHEMAS.glob("*Request.json"):
        schema = json.loads(path.read_text())
        flexible = schema["flexibleVersions"]
        keys[schema["name"]] = (
            schema["apiKey"],
            None if flexible == "none" else int(flexible.rstrip("+").split("-")[0]),
        )
    frames = []
    for line in VECTORS.read_text().splitlines():
        if line.startswith("#"):
            continue
        name, version, body, _ = line.split("\t")
        if name not in keys:
            continue
        api_key, flexible_from = keys[name]
        header = struct.pack(">hhih", api_key, int(version), 7, 4) + b"fuzz"
        if flexible_from is not None and int(version) >= flexible_from:
            header += b"\0"
        frames.append(header + (b"" if body == "-" else bytes.fromhex(body)))
    return frames


def mutated(source: random.Random, frames: list[bytes]) -> Iterator[bytes]:
    """Frames with bits flipped, bytes cut out or put in, lengths blown up; and random ones."""
    while True:
        if source.random() < 0.1:
            yield source.randbytes(source.randrange(0, 300))
            continue
        frame = bytearray(source.choice(frames))
        for _ in range(source.choice((1, 1, 2, 5))):
            place = source.randrange(len(frame) + 1)
            match source.randrange(5):
                case 0 if place < len(frame):
                    frame[place] ^= 1 << source.randrange(8)
                case 1:
                    del frame[place : place + source.randrange(1, 9)]
                case 2:
                    frame[place:place] = source.randbytes(source.randrange(1, 9))
                case 3:
                    frame[place : place + 4] = source.choice(
                        (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\1\x86\xa1")
                    )
                case _:
                    del frame[place:]
        yield bytes(frame)


# Requests that wait for the controller's work as long as they say. A mutated timeout may be of days, and a mutated
# UpdateMetadata make a deletion wait for brokers that are not there.
_MAY_WAIT = {
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
}
_MOST_WAIT_S = 10


def answered_count(sock: socket.socket, frames: Sequence[bytes]) -> int:
    """How many frames are answered before the broker closes the connection, or waits as it was asked to."""
    data = bytearray()
    with contextlib.suppress(ConnectionError):
        while True:
            sock.settimeout(_MOST_WAIT_S if _may_wait(frames[_complete_count(data) :]) else PATIENCE_S)
            try:
                part = sock.recv(1 << 20)
            except TimeoutError:
                if _may_wait(frames[_complete_count(data) :]):
                    break
                raise
            if not part:
                break
            data += part
    return _complete_count(data)


def _may_wait(left: Sequence[bytes]) -> bool:
    return bool(left) and left[0][:2] in {key.to_bytes(2, "big") for key in _MAY_WAIT}


def _complete_count(data: bytearray) -> int:
    """How many whole answers there are."""
    count = position = 0
    while len(data) - position >= 4:
        (size,) = struct.unpack_from(">i", data, position)
        position += 4 + size
        count += position <= len(data)
    return count


def send_all(broker: Broker, frames: list[bytes]) -> None:
    """Have the broker take every frame: those behind one that cost its connection go into the next connection."""
    start = 0
    while start < len(frames):
        burst = frames[start : start + BURST_COUNT]
        with socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S) as sock:
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"".join(struct.pack(">i", len(frame)) + frame for frame in burst))
                sock.shutdown(socket.SHUT_WR)
            # The first that was not answered is the one that the connection was closed for.
            start += answered_count(sock, burst) + 1


def frame_of(request: Any, version: int, client_id: str = "evil") -> bytes:
    frame = raw.encoded(request, version, client_id.encode())
    return struct.pack(">i", len(frame)) + frame


def read_answer(sock: socket.socket) -> bytes:
    """The next answer's header and body; empty when the connection is closed."""
    return raw.read_frame(sock) or b""


def ask(broker: Broker, request: Any, version: int, client_id: str = "evil") -> Any:
    """The answer, or None where the connection was closed for the request."""
    return raw.ask(broker.bootstrap_servers, request, version, client_id.encode())


def new_topics(names, partition_count=1, *, validate_only=False) -> CreateTopicsRequest:
    topics = [CreatableTopic(name, partition_count, 1) for name in names]
    return CreateTopicsRequest(topics, 30_000, validate_only)


def half_frames(broker: Broker, count: int) -> list[socket.socket]:
    """Connections of which each claims a large frame, sends a little of it, and waits."""
    sockets = []
    for number in range(count):
        sock = socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S)
        sock.sendall(struct.pack(">ihhih", 50_000_000, 0, 7, number, 4) + b"half" + b"x" * 2_000)
        sockets.append(sock)
    return sockets


def fetch_of_many() -> FetchRequest:
    partitions = [FetchPartition(each) for each in MANY]
    return FetchRequest(max_wait_ms=2**31 - 1, min_bytes=2**31 - 1, topics=[FetchTopic("t", partitions=partitions)])


def produce_of_many() -> ProduceRequest:
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(each, b"r" * 61) for each in MANY])]
    return ProduceRequest(None, 1, 1_000, data)


def metadata_of_many() -> MetadataRequest:
    return MetadataRequest([MetadataRequestTopic(name=f"t{each}") for each in MANY])


def describe_one_very_often() -> DescribeConfigsRequest:
    return DescribeConfigsRequest([DescribeConfigsResource(4, "0", None)] * 50_000)


def new_topic(name: str, **configs: str) -> CreateTopicsRequest:
    """A topic that takes large batches, with some settings; an underscore stands for a dot."""
    given = {"max.message.bytes": "100000000", **{key.replace("_", "."): value for key, value in configs.items()}}
    settings = [CreatableTopicConfig(key, value) for key, value in given.items()]
    return CreateTopicsRequest([CreatableTopic(name, 1, 1, configs=settings)], 30_000)


def bomb(codec: Codec, *, is_one_record: bool) -> bytes:
    """A batch that unpacks to 128 MiB: one record, or as many as can be, which are refused once all were looked at."""
    if is_one_record:
        value_bytes = MAX_UNCOMPRESSED_BYTES - 100
        body = bytes((0, 0, 0, 2)) + b"k" + _varint(value_bytes) + bytes(value_bytes + 1)
        payload, count = _varint(len(body)) + body, 1
    else:
        count = MAX_UNCOMPRESSED_BYTES // len(_SMALLEST_RECORD)
        payload = _SMALLEST_RECORD * count
    packed = compress(codec, payload)
    size = HEADER_BYTES - LOG_OVERHEAD + len(packed)
    batch = bytearray(HEADER.pack(0, size, -1, MAGIC, 0, codec, count - 1, 0, 0, -1, -1, -1, count) + packed)
    set_crc(batch, 0, len(batch))
    return bytes(batch)


def large_batch() -> bytes:
    """50 MB that a broker appends as they are."""
    builder = BatchBuilder()
    builder.append(1_600_000_000_000, b"key", bytes(_OLD_MESSAGES_BYTES))
    return bytes(builder.build())


def old_messages(value_bytes: int) -> bytes:
    """50 MB of messages of magic 1, as a client before 0.11 sends them."""
    builder = MessageSetBuilder(1)
    builder.append(0, 1_600_000_000_000, b"key", bytes(value_bytes))
    message = builder.build()
    return bytes(message) * (_OLD_MESSAGES_BYTES // len(message))


def produce_to(topic: str, records: bytes) -> ProduceRequest:
    return ProduceRequest(None, 1, 1_000, [TopicProduceData(topic, partition_data=[PartitionProduceData(0, records)])])


def _varint(number: int) -> bytes:
    number <<= 1  # zigzag, of what is not negative
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def list_offsets_of_many() -> ListOffsetsRequest:
    partitions = [ListOffsetsPartition(each, timestamp=-1) for each in MANY]
    return ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", partitions)])


def committed_offsets_of_many() -> OffsetFetchRequest:
    return OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", list(MANY))])


def epochs_of_many() -> OffsetForLeaderEpochRequest:
    partitions = [OffsetForLeaderPartition(each) for each in MANY]
    return OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("t", partitions)])


def groups_of_many() -> DescribeGroupsRequest:
    return DescribeGroupsRequest([f"g{each}" for each in MANY])
