"""Batches that unpack to 120 MiB: twelve clients of Kafka 0.10 fetch eight of them each, repeatedly."""

import contextlib
import threading

from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from benchmarks.attacks.honest import connected
from benchmarks.whole.wire import Peer, frame

_TOPIC = "bombs"
_PARTITION_COUNT, _CLIENT_COUNT = 8, 12
_UNPACKED_BYTES, _RECORD_BYTES = 120 << 20, 1_000


def fill(peer: Peer) -> None:
    """Produce a batch into each partition."""
    batch = BatchBuilder(Codec.GZIP)
    for _ in range(_UNPACKED_BYTES // _RECORD_BYTES):
        batch.append(0, None, bytes(_RECORD_BYTES))
    data = bytes(batch.build())
    peer.ask(CreateTopicsRequest([CreatableTopic(_TOPIC, _PARTITION_COUNT, 1)], 30_000), 4)
    for index in range(_PARTITION_COUNT):
        request = ProduceRequest(None, 1, 30_000, [TopicProduceData(_TOPIC, [PartitionProduceData(index, data)])])
        if error := peer.ask(request, 7).responses[0].partition_responses[0].error_code:
            raise RuntimeError(f"the broker answers error {error}")


def fetch_old(address: str, protocol: str) -> None:
    """Fetch all batches in the format of Kafka 0.10, forever."""
    threads = [threading.Thread(target=_fetch, args=(address, protocol)) for _ in range(_CLIENT_COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _fetch(address: str, protocol: str) -> None:
    wanted = [FetchPartition(index, partition_max_bytes=1 << 20) for index in range(_PARTITION_COUNT)]
    request = frame(FetchRequest(max_wait_ms=100, min_bytes=1, topics=[FetchTopic(_TOPIC, partitions=wanted)]), 2)
    while True:
        with contextlib.suppress(OSError), contextlib.closing(connected(address, protocol)) as peer:
            while True:
                peer.send(request)
                peer.receive()
