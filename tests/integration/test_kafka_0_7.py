"""What a broker does when a client of Kafka 0.7 comes: it closes the connection, and says in its log who that was."""

import socket
import struct

from barnabas.testing import Broker
from tests import old_requests as old
from tests.patience import PATIENCE_S

FRAMES = [
    old.produce("topic", -1, bytes(20)),
    old.fetch("page-views"),
    old.multifetch([("topic", 0, 0), ("other", 1, 5)]),
    old.multiproduce([("topic", 0, bytes(20)), ("other", -1, b"")]),
    old.offsets("topic", 0, -2, 10),
]


def is_closed(broker: Broker, frame: bytes) -> bool:
    with socket.create_connection((broker.host, broker.port), PATIENCE_S) as connection:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        return connection.recv(1) == b""


def test_each_of_its_requests_ends_its_connection_and_all_of_them_are_one_line() -> None:
    with Broker() as broker:
        for frame in FRAMES * 3:
            assert is_closed(broker, frame)
        # Others are told of as ever, each time.
        for _ in range(2):
            assert is_closed(broker, struct.pack(">hhih", 1, 999, 7, -1))
        # The line comes after the end of the connection.
        broker.stop()
        log = broker.log_text()
    (line,) = [line for line in log.splitlines() if "Kafka 0.7" in line]
    assert "Kafka 0.7 client at 127.0.0.1 sent Produce of topic topic" in line
    assert "WARN" in line
    assert log.count("closing the connection") == 2
