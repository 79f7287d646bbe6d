"""The documented settings of the producer, as in docs/clients/producer.md, and the values derived from them.

Names and defaults are 0.8.2's, or 0.7's for settings that 0.8 does not have.

Source: configuration documents of 0.7 (producer) and 0.8.2 (producer configs); kafka.producer.ProducerConfig of both.
"""

import re
from collections.abc import Mapping
from typing import Final

from barnabas.api.settings import Declared, Settings, SettingsTable
from barnabas.clients.librdkafka import librdkafka_options
from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.clients.zookeeper.settings import zookeeper_options
from barnabas.core.dice import system_dice
from barnabas.core.errors import ConfigError

_BROKER: Final = re.compile(r"(?:\d+:)?((?:\[[^\[\]]+\]|[^:\[\]\s]+):\d+)")
_CODECS: Final = {"0": "none", "1": "gzip", "2": "snappy", "3": "lz4"}
_MOST: Final = 2**31 - 1
# The largest message.max.bytes that librdkafka accepts.
_LARGEST_BYTES: Final = 1_000_000_000

TABLE: Final = SettingsTable(
    "producer",
    (
        Declared(
            "metadata.broker.list",
            "list",
            "",
            "Bootstrap brokers, as `host:port` or 0.7's `id:host:port`; this or `zookeeper.connect`.",
            ("broker.list",),
        ),
        Declared(
            "zookeeper.connect",
            "string",
            None,
            "ZooKeeper of the brokers, as `host:port,host:port/chroot`; this or `metadata.broker.list`.",
            ("zk.connect",),
        ),
        Declared(
            "zookeeper.session.timeout.ms",
            "int",
            6_000,
            "Session timeout with ZooKeeper.",
            ("zk.sessiontimeout.ms",),
            least=1,
        ),
        Declared(
            "zookeeper.connection.timeout.ms",
            "int",
            None,
            "Timeout of the first connection to ZooKeeper; by default the session timeout.",
            ("zk.connectiontimeout.ms",),
            least=1,
        ),
        Declared(
            "zookeeper.sync.time.ms",
            "int",
            2_000,
            "Largest delay of a ZooKeeper follower: the longest wait between two reads of `zk.read.num.retries`.",
            ("zk.synctime.ms",),
            least=0,
        ),
        Declared(
            "zk.read.num.retries",
            "int",
            3,
            "Retries if ZooKeeper has no brokers.",
            least=0,
        ),
        Declared(
            "producer.type",
            "string",
            "sync",
            "sync: `send` returns when the brokers have answered; async: a thread sends, in batches.",
            choices=("sync", "async"),
        ),
        Declared(
            "serializer.class",
            "class",
            "barnabas.api.producer.DefaultEncoder",
            "Encoder of messages: DefaultEncoder passes bytes, StringEncoder encodes text.",
        ),
        Declared("key.serializer.class", "class", None, "Encoder of keys; by default that of `serializer.class`."),
        Declared("serializer.encoding", "string", "UTF8", "StringEncoder's encoding."),
        Declared(
            "partitioner.class",
            "class",
            "barnabas.api.producer.DefaultPartitioner",
            "Partitioner of keys: DefaultPartitioner uses Java's hash of the key, Murmur2Partitioner that of newer "
            "clients.",
        ),
        Declared("event.handler", "class", None, "Async: handler of batches; by default it sends them to the brokers."),
        Declared(
            "event.handler.props", "class", None, "Argument of its `init`: a mapping, or the path of a properties file."
        ),
        Declared("callback.handler", "class", None, "Async: hooks at each stage of the queue."),
        Declared(
            "callback.handler.props",
            "class",
            None,
            "Argument of its `init`: a mapping, or the path of a properties file.",
        ),
        Declared(
            "compression.codec",
            "string",
            "none",
            "Compression of batches; also 0.7's numbers, and 3 for lz4.",
            choices=(*_CODECS.values(), *_CODECS),
        ),
        Declared("compressed.topics", "list", "", "Topics to compress; empty: all topics."),
        Declared(
            "request.required.acks",
            "int",
            0,
            "Acknowledgements: 0 none (a message is sent when it is written to the socket), 1 of the leader, -1 of "
            "all in-sync replicas.",
            least=-1,
            greatest=1_000,
        ),
        Declared(
            "request.timeout.ms",
            "int",
            10_000,
            "Timeout of the broker for its replicas, and of the producer for the broker.",
            least=10,
            greatest=300_000,
        ),
        Declared(
            "message.send.max.retries",
            "int",
            3,
            "Retries after a retriable error or an unavailable broker.",
            ("num.retries",),
            least=0,
            greatest=1_000_000,
        ),
        Declared("retry.backoff.ms", "int", 100, "Wait before each retry.", least=1, greatest=300_000),
        Declared(
            "topic.metadata.refresh.interval.ms",
            "int",
            600_000,
            "Maximum age of a topic's metadata; 0: request it at every send; negative: only after a failure.",
            greatest=3_600_000,
        ),
        Declared(
            "queue.buffering.max.ms",
            "int",
            5_000,
            "Async: longest time that a message waits for a full batch.",
            ("queue.time",),
            least=0,
            greatest=_MOST,
        ),
        Declared(
            "queue.buffering.max.messages",
            "int",
            10_000,
            "Async: maximum number of messages without an answer, queued or sent.",
            ("queue.size",),
            least=1,
            greatest=10_000_000,
        ),
        Declared(
            "queue.enqueue.timeout.ms",
            "int",
            -1,
            "Async, if the queue is full: 0 refuses at once (0.7's default), -1 waits without limit, else wait in ms.",
            ("queue.enqueueTimeout.ms",),
            least=-1,
        ),
        Declared(
            "batch.num.messages",
            "int",
            200,
            "Async: messages in a batch; also the maximum in one request for a partition.",
            ("batch.size",),
            least=1,
            greatest=1_000_000,
        ),
        Declared(
            "max.in.flight.requests.per.connection",
            "int",
            5,
            "Requests in flight to a broker; with 1 the messages of a partition stay in order even after a retry. "
            "From 0.8.2's new producer: the old one waited for each.",
            least=1,
            greatest=1_000_000,
        ),
        Declared(
            "send.buffer.bytes",
            "int",
            102_400,
            "Send buffer of the socket.",
            ("buffer.size",),
            least=0,
            greatest=100_000_000,
        ),
        Declared("client.id", "string", "", "Producer name in the brokers' logs, quotas and metrics."),
        Declared(
            "connect.timeout.ms",
            "int",
            5_000,
            "Timeout of a connection attempt.",
            least=1_000,
            greatest=_MOST,
        ),
        Declared(
            "socket.timeout.ms",
            "int",
            None,
            "Timeout of any request to a broker; by default `request.timeout.ms`.",
            least=10,
            greatest=300_000,
        ),
        Declared(
            "reconnect.interval",
            "int",
            -1,
            "Produce requests until connections are replaced; negative: no limit (0.7: 30000).",
            least=-1,
        ),
        Declared(
            "reconnect.time.interval.ms",
            "int",
            -1,
            "Time until connections are replaced; negative: no limit (0.7: 10000000).",
            least=-1,
        ),
        Declared(
            "max.message.size",
            "int",
            1_000_000,
            "Maximum size of key and value, in bytes; a larger message is refused before anything is sent.",
            least=1,
            greatest=1_000_000_000,
        ),
    ),
)


class ProducerConfig:
    """A producer's settings, checked one by one and together.

    Attributes:
        given: The program's mapping, for encoders and partitioners.
        settings: Every setting's value.
        servers: `host:port,...` of metadata.broker.list; empty: ZooKeeper lists the brokers.
        codec: none, gzip, snappy or lz4.
        compressed_topics: Empty: all.
    """

    __slots__ = ("codec", "compressed_topics", "given", "servers", "settings")

    def __init__(self, config: Mapping[str, object]) -> None:
        """Args:
        config: Settings by documented names.

        Raises:
            ConfigError: A setting is unknown, invalid, or contradicts another.
        """
        self.given = config
        self.settings: Settings = TABLE.read(config)
        self.servers = _servers(self.settings.items("metadata.broker.list"))
        codec = self.settings.text("compression.codec")
        self.codec = _CODECS.get(codec, codec)
        self.compressed_topics = frozenset(self.settings.items("compressed.topics"))
        self._check()

    @property
    def is_async(self) -> bool:
        return self.settings.text("producer.type") == "async"

    @property
    def zookeeper(self) -> ZooKeeperOptions:
        """Return the options of the ZooKeeper connection."""
        settings, session_ms = self.settings, self.settings.integer("zookeeper.session.timeout.ms")
        connection_ms = session_ms
        if "zookeeper.connection.timeout.ms" in settings.given:
            connection_ms = settings.integer("zookeeper.connection.timeout.ms")
        return zookeeper_options(
            settings.text("zookeeper.connect"), settings.security, system_dice(), session_ms, connection_ms
        )

    @property
    def sync_time_s(self) -> float:
        """Return zookeeper.sync.time.ms in seconds."""
        return self.settings.integer("zookeeper.sync.time.ms") / 1000

    @property
    def backoff_s(self) -> float:
        """Return retry.backoff.ms in seconds."""
        return self.settings.integer("retry.backoff.ms") / 1000

    def is_compressed(self, topic: str) -> bool:
        """Return whether messages of a topic are compressed."""
        return self.codec != "none" and (not self.compressed_topics or topic in self.compressed_topics)

    def librdkafka(self, servers: str, codec: str) -> dict[str, str | int]:
        """Return librdkafka's settings for connections to these brokers. Some are secrets. Raises ConfigError."""
        number = self.settings.integer
        request_ms, backoff_ms = number("request.timeout.ms"), number("retry.backoff.ms")
        retries, refresh_ms = number("message.send.max.retries"), number("topic.metadata.refresh.interval.ms")
        given = self.settings.given
        socket_ms = number("socket.timeout.ms") if "socket.timeout.ms" in given else request_ms
        # librdkafka's limit includes the overhead of frames and batches.
        largest = min(max(1_000_000, number("max.message.size")) + 10_000, _LARGEST_BYTES)
        options: dict[str, str | int] = {
            "acks": number("request.required.acks"),
            "batch.num.messages": number("batch.num.messages") if self.is_async else 10_000,
            "compression.type": codec,
            # Only critical messages: other errors are raised, and would be logged repeatedly while a broker is down.
            "log_level": 2,
            "max.in.flight.requests.per.connection": number("max.in.flight.requests.per.connection"),
            "message.max.bytes": largest,
            "message.send.max.retries": retries,
            "message.timeout.ms": min(_MOST, (retries + 1) * (max(request_ms, socket_ms) + backoff_ms)),
            # A short time, because messages have already waited in the queue: it only groups related ones.
            "queue.buffering.max.ms": min(5, number("queue.buffering.max.ms")) if self.is_async else 5,
            "queue.buffering.max.messages": max(10_000, number("queue.buffering.max.messages")),
            "reconnect.backoff.ms": backoff_ms,
            "reconnect.backoff.max.ms": backoff_ms,
            "request.timeout.ms": request_ms,
            "retry.backoff.ms": backoff_ms,
            "retry.backoff.max.ms": backoff_ms,
            "socket.connection.setup.timeout.ms": number("connect.timeout.ms"),
            "socket.send.buffer.bytes": number("send.buffer.bytes"),
            "socket.timeout.ms": socket_ms,
            "topic.metadata.refresh.interval.ms": max(10, refresh_ms) if refresh_ms >= 0 else -1,
        }
        if self.settings.text("client.id"):
            options["client.id"] = self.settings.text("client.id")
        return {**librdkafka_options(servers, self.settings.security), **options}

    def _check(self) -> None:
        settings, connect = self.settings, self.settings.text("zookeeper.connect")
        if bool(connect) == bool(self.servers):
            raise ConfigError(
                "either zookeeper.connect (zk.connect) or metadata.broker.list (broker.list) says where the brokers "
                f"are: {'both are' if connect else 'neither is'} set"
            )
        for name in ("event.handler", "callback.handler"):
            if not self.is_async and settings.given_object(name) is not None:
                raise ConfigError(f"{name} needs producer.type=async: a sync producer has no queue")
            if settings.given_object(name) is None and settings.given_object(f"{name}.props") is not None:
                raise ConfigError(f"{name}.props is for {name}, which is not set")
        # Invalid settings are reported now, and not at the first message.
        self.librdkafka("localhost:9092", "none")


def _servers(brokers: list[str]) -> str:
    found = []
    for broker in brokers:
        match = _BROKER.fullmatch(broker)
        if match is None:
            raise ConfigError(f"metadata.broker.list (broker.list): {broker} must be host:port or id:host:port")
        found.append(match[1])
    return ",".join(found)
