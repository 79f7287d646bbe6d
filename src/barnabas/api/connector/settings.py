"""The settings of a ConsumerConnector: the documented names of 0.8.2, and those of 0.7 where they differ.

Source: configuration documents, consumer configs of 0.7 and 0.8.2; Kafka 0.8.2.2, ConsumerConfig.
"""

from typing import Final

from barnabas.api.connector.assignment import STRATEGIES
from barnabas.api.settings import Declared, SettingsTable

_NO_MIRROR: Final = "a connector does not mirror: use create_message_streams_by_filter, or barnabas mirror"

TABLE: Final = SettingsTable(
    "consumer connector",
    (
        Declared("group.id", "string", None, "The group, whose members share the partitions; required.", ("groupid",)),
        Declared(
            "zookeeper.connect",
            "string",
            None,
            "host:port,.../chroot of ZooKeeper, or of a broker's barnabas.registry.listeners; required.",
            ("zk.connect",),
        ),
        Declared(
            "consumer.id",
            "string",
            None,
            "The consumer's name after that of its group; by default one that no other has.",
            ("consumerid",),
        ),
        Declared("client.id", "string", None, "What brokers see in requests; by default the group's name."),
        Declared(
            "socket.timeout.ms",
            "int",
            30_000,
            "How long an answer may take, in ms; of a fetch so much longer than fetch.wait.max.ms.",
            least=1,
        ),
        Declared(
            "socket.receive.buffer.bytes",
            "int",
            65_536,
            "The system's receive buffer of each connection to a broker, in bytes.",
            ("socket.buffersize",),
            least=1,
        ),
        Declared(
            "fetch.message.max.bytes",
            "int",
            1_048_576,
            "How much of a partition is asked for at a time, in bytes.",
            ("fetch.size",),
            least=1,
        ),
        Declared(
            "num.consumer.fetchers",
            "int",
            1,
            "One task fetches from each broker: 1 is all it can be.",
            least=1,
            greatest=1,
        ),
        Declared(
            "auto.commit.enable",
            "boolean",
            True,
            "Whether the offsets of what was taken are stored now and then, and when partitions are given up.",
            ("autocommit.enable",),
        ),
        Declared(
            "auto.commit.interval.ms",
            "int",
            60_000,
            "How often, in ms.",
            ("autocommit.interval.ms",),
            least=1,
        ),
        Declared(
            "queued.max.message.chunks",
            "int",
            2,
            "How many fetched chunks may wait in a stream before nothing more is fetched for it.",
            ("queuedchunks.max",),
            least=1,
        ),
        Declared(
            "rebalance.max.retries",
            "int",
            4,
            "How often a rebalance is tried before it counts as failed.",
            ("rebalance.retries.max",),
            least=1,
        ),
        Declared("fetch.min.bytes", "int", 1, "How much a broker waits for before it answers, in bytes.", least=0),
        Declared("fetch.wait.max.ms", "int", 100, "How long it waits for that, in ms.", least=0),
        Declared(
            "rebalance.backoff.ms",
            "int",
            None,
            "How long to wait between two tries of a rebalance, in ms; by default zookeeper.sync.time.ms.",
            least=0,
        ),
        Declared(
            "refresh.leader.backoff.ms",
            "int",
            200,
            "How long to wait before the new leader of a partition is asked for, in ms.",
            ("fetcher.backoff.ms", "backoff.increment.ms"),
            least=0,
        ),
        Declared(
            "auto.offset.reset",
            "string",
            "largest",
            "Where to begin without a stored offset, or with one that is gone: smallest, largest; with anything else "
            "the stream raises OffsetOutOfRangeError.",
            ("autooffset.reset",),
        ),
        Declared(
            "consumer.timeout.ms",
            "int",
            -1,
            "How long a stream waits for a message before it raises ConsumerTimeoutError, in ms; -1: for ever.",
            least=-1,
        ),
        Declared(
            "exclude.internal.topics",
            "boolean",
            True,
            "Whether no white or black list covers __consumer_offsets and __transaction_state.",
        ),
        Declared(
            "partition.assignment.strategy",
            "string",
            "range",
            "The rule by which partitions are shared out; the same in the whole group.",
            choices=tuple(STRATEGIES),
        ),
        Declared(
            "zookeeper.session.timeout.ms",
            "int",
            6_000,
            "How long after its last sign a consumer counts as gone, in ms.",
            ("zk.sessiontimeout.ms",),
            least=1,
        ),
        Declared(
            "zookeeper.connection.timeout.ms",
            "int",
            None,
            "How long to wait for ZooKeeper at the start, in ms; by default the session's timeout.",
            ("zk.connectiontimeout.ms",),
            least=1,
        ),
        Declared(
            "zookeeper.sync.time.ms",
            "int",
            2_000,
            "How far a server of ZooKeeper may be behind, in ms.",
            ("zk.synctime.ms",),
            least=0,
        ),
        Declared(
            "offsets.storage",
            "string",
            "zookeeper",
            "Where offsets are stored.",
            choices=("zookeeper", "kafka"),
        ),
        Declared(
            "dual.commit.enabled",
            "boolean",
            None,
            "With offsets.storage=kafka: whether offsets are stored in ZooKeeper, too, and the larger one is read; by "
            "default so.",
        ),
        Declared(
            "offsets.channel.backoff.ms",
            "int",
            1_000,
            "How long to wait before the group's coordinator is asked again, in ms.",
            least=0,
        ),
        Declared(
            "offsets.channel.socket.timeout.ms",
            "int",
            10_000,
            "How long the coordinator may take to answer, in ms.",
            least=1,
        ),
        Declared(
            "offsets.commit.max.retries",
            "int",
            5,
            "How often a commit that is not automatic is tried again.",
            least=0,
        ),
        Declared("mirror.topics.whitelist", "string", None, "", refusal=_NO_MIRROR),
        Declared("mirror.topics.blacklist", "string", None, "", refusal=_NO_MIRROR),
        Declared("mirror.consumer.numthreads", "int", None, "", refusal=_NO_MIRROR),
    ),
)
