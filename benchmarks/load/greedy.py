"""A client with expensive requests, one after the other; another client beside it is timed.

    python -m benchmarks.load.greedy bomb HOST:PORT SECONDS
        batches of 128 MiB, compressed to a few kB, for a compacted topic, so that the broker unpacks them
    python -m benchmarks.load.greedy old-messages HOST:PORT SECONDS
        50 MB of messages by Produce v1, which the broker converts to its own format

Prints `begun` when the first request is sent, and ends by itself.
"""

import socket
import sys
import time

from barnabas.wire.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.records.batch import Codec
from tests.integration.hostile_peers import bomb, frame_of, new_topic, old_messages, produce_to, read_answer

_PATIENCE_S = 120


def _work(kind: str, topic: str) -> tuple[CreateTopicsRequest, bytes]:
    if kind == "bomb":
        records = bomb(Codec.ZSTD, is_one_record=False)
        return new_topic(topic, cleanup_policy="compact"), frame_of(produce_to(topic, records), 7)
    return new_topic(topic), frame_of(produce_to(topic, old_messages(100)), 1)


def main() -> None:
    kind, address, seconds = sys.argv[1:]
    topic = f"greedy-{kind}"
    create, frame = _work(kind, topic)
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=_PATIENCE_S) as connection:
        for preparation in (frame_of(create, 4), frame_of(MetadataRequest([MetadataRequestTopic(name=topic)]), 4)):
            connection.sendall(preparation)
            read_answer(connection)
        end = time.monotonic() + float(seconds)
        print("begun", flush=True)
        while time.monotonic() < end:
            connection.sendall(frame)
            if not read_answer(connection):
                sys.exit("the broker closed the connection")


if __name__ == "__main__":
    main()
