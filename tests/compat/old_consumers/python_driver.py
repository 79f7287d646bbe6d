"""Our consumer behind a pipe, with the lines of ../java/OldConsumerDriver.java: `python -m` this, and its arguments."""

import logging
import sys
import threading
import time

from barnabas.api import ConsumerConnector
from barnabas.api.connector import KafkaStream, WhiteList

_lock = threading.Lock()


def _say(kind: str, *tokens: object) -> None:
    line = "\t".join(map(str, (kind, time.time_ns() // 1_000_000, *tokens)))
    with _lock:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


class _Rebalances(logging.Handler):
    """The connector says in its log alone what it owns, or why that comes to nothing; not when it begins to look."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if any(each in text for each in (": owns ", ": could not ", ": the session with the registry expired")):
            _say("rebalance", "end")
        elif record.levelno >= logging.ERROR:
            _say("error", text.replace("\n", " ").replace("\t", " "))


def _read(stream: KafkaStream[bytes, bytes]) -> None:
    for message in stream:
        _say("message", message.topic, message.partition, message.offset)


def main(arguments: list[str]) -> None:
    is_white_list = arguments[0] == "--white-list"
    subscription, *pairs = arguments[is_white_list:]
    settings = dict(pair.split("=", 1) for pair in pairs)
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)")
    logging.getLogger("barnabas.api").addHandler(_Rebalances())
    connector = ConsumerConnector(settings)
    if is_white_list:
        regex, _, count = subscription.rpartition(":")
        streams = connector.create_message_streams_by_filter(WhiteList(regex), int(count))
    else:
        counts = {topic: int(count) for topic, count in (pair.split(":") for pair in subscription.split(","))}
        streams = [stream for each in connector.create_message_streams(counts).values() for stream in each]
    readers = [threading.Thread(target=_read, args=(stream,)) for stream in streams]
    for reader in readers:
        reader.start()
    _say("up")
    for line in map(str.strip, sys.stdin):
        if line == "shutdown":
            break
        if line == "commit":
            connector.commit_offsets()
            _say("committed")
    connector.shutdown()
    for reader in readers:
        reader.join()
    _say("down")


if __name__ == "__main__":
    main(sys.argv[1:])
