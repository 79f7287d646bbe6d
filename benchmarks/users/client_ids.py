"""Produce requests of 10,000 distinct client ids, each with its own quota by the default.

One connection sends each request with another client id: all ids once, then all of them again. For comparison, the
same requests are sent with a single client id and the same quota.
"""

import struct
import time
from collections.abc import Callable, Sequence

from barnabas.wire.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.protocol.wire import WireBuffer
from barnabas.wire.records.builder import BatchBuilder
from benchmarks.load.lines import Line
from benchmarks.load.process import CPU_MICRO, cpu, resident_mb
from benchmarks.log_numbers.brokers import Measured
from benchmarks.whole.wire import Peer

Figures = dict[str, float]

_TOPIC = "client-ids"
_VERSION = 8
_CLIENT_COUNT, _WARMUP_COUNT = 10_000, 10_000
_UNREACHED = 1e12
_KEYS = ("producer_byte_rate", "request_percentage")

LINES = (
    Line("client_ids_us", f"a small produce, {_CLIENT_COUNT:,} client ids in turn: {CPU_MICRO}", 1, 1.0),
    Line("client_ids_first_us", f"the same, each client id for the first time: {CPU_MICRO}", 1),
    Line("client_ids_one_us", f"the same of one client id: {CPU_MICRO}", 1),
    Line("client_ids_kb", "memory for each client id: KB", 2),
)


def produce_by_many(new_broker: Callable[[dict[str, str]], Measured]) -> Figures:
    """One connection with very many client ids."""
    broker = new_broker({})
    try:
        broker.start()
        peer = Peer(broker.address)
        _prepare(peer)
        one = [_frame("one")] * _CLIENT_COUNT
        many = [_frame(f"client-{number}") for number in range(_CLIENT_COUNT)]
        # A JVM continues compiling during this many requests.
        _cpu_us(broker, peer, [_frame("one")] * _WARMUP_COUNT)
        before_mb = resident_mb(broker.pid)
        first_us = _cpu_us(broker, peer, many)
        grown_mb = resident_mb(broker.pid) - before_mb
        rounds = [(_cpu_us(broker, peer, one), _cpu_us(broker, peer, many)) for _ in range(3)]
        peer.close()
        return {
            "client_ids_one_us": sorted(each[0] for each in rounds)[1],
            "client_ids_first_us": first_us,
            "client_ids_us": sorted(each[1] for each in rounds)[1],
            "client_ids_kb": grown_mb * 1_000 / _CLIENT_COUNT,
        }
    finally:
        broker.close()


def _prepare(peer: Peer) -> None:
    created = peer.ask(CreateTopicsRequest([CreatableTopic(_TOPIC, 1, 1)], 30_000, False), 4)
    entry = AlterClientQuotasRequestEntryData(
        [EntityData("client-id", None)], [OpData(key, _UNREACHED, False) for key in _KEYS]
    )
    altered = peer.ask(AlterClientQuotasRequest([entry], False), 0)
    errors = {each.error_code for each in (*created.topics, *altered.entries)}
    if errors != {0}:
        raise RuntimeError(f"topic and quota could not be made: {sorted(errors)}")


def _frame(client_id: str) -> bytes:
    builder = BatchBuilder()
    builder.append(int(time.time() * 1_000), None, bytes(100))
    data = [TopicProduceData(_TOPIC, partition_data=[PartitionProduceData(0, bytes(builder.build()))])]
    name = client_id.encode()
    out = WireBuffer(struct.pack(">hhih", ProduceRequest.API_KEY, _VERSION, 1, len(name)) + name)
    ProduceRequest(None, 1, 30_000, data).encode(_VERSION, out)
    return struct.pack(">i", len(out)) + bytes(out)


def _cpu_us(broker: Measured, peer: Peer, frames: Sequence[bytes]) -> float:
    """Return the broker's CPU per request, in microseconds."""
    before_s = cpu(broker.pid)
    for frame in frames:
        peer.send(frame)
        peer.receive()
    return (cpu(broker.pid) - before_s) / len(frames) * 1e6
