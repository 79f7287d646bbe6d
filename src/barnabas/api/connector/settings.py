"""The settings of a ConsumerConnector: the documented names of 0.8.2, and 0.7's names where they differ.

Source: configuration documents, consumer configs of 0.7 and 0.8.2; Kafka 0.8.2.2, ConsumerConfig.
"""

from typing import Final

from barnabas.api.connector.assignment import STRATEGIES
from barnabas.api.settings import Declared, SettingsTable

_NO_MIRROR: Final = "a connector does not mirror: use create_message_streams_by_filter, or barnabas mirror"

TABLE: Final = SettingsTable(
    "consumer connector",
    (
        Declared("group.id", "string", None, "Group of members that share the partitions; required.", ("groupid",)),
        Declared(
            "zookeeper.connect",
            "string",
            None,
            "Address of ZooKeeper, or of a broker's barnabas.registry.listeners: host:port,.../chroot; required.",
            ("zk.connect",),
        ),
        Declared(
            "consumer.id",
            "string",
            None,
            "Consumer name, after the group's name; by default a unique one.",
            ("consumerid",),
        ),
        Declared("client.id", "string", None, "Client id in requests; by default the group's name."),
        Declared(
            "socket.timeout.ms",
            "int",
            30_000,
            "Timeout of a request, in ms; for a fetch in addition to fetch.wait.max.ms.",
            least=1,
        ),
        Declared(
            "socket.receive.buffer.bytes",
            "int",
            65_536,
            "Receive buffer of each socket to a broker, in bytes.",
            ("socket.buffersize",),
            least=1,
        ),
        Declared(
            "fetch.message.max.bytes",
            "int",
            1_048_576,
            "Fetch size per partition, in bytes.",
            ("fetch.size",),
            least=1,
        ),
        Declared(
            "num.consumer.fetchers",
            "int",
            1,
            "Fetchers per broker; must be 1.",
            least=1,
            greatest=1,
        ),
        Declared(
            "auto.commit.enable",
            "boolean",
            True,
            "Commit the offsets of consumed messages periodically, and when partitions are released.",
            ("autocommit.enable",),
        ),
        Declared(
            "auto.commit.interval.ms",
            "int",
            60_000,
            "Interval of automatic commits, in ms.",
            ("autocommit.interval.ms",),
            least=1,
        ),
        Declared(
            "queued.max.message.chunks",
            "int",
            2,
            "Fetched chunks that a stream may queue before fetching pauses.",
            ("queuedchunks.max",),
            least=1,
        ),
        Declared(
            "rebalance.max.retries",
            "int",
            4,
            "Tries of a rebalance before it fails.",
            ("rebalance.retries.max",),
            least=1,
        ),
        Declared("fetch.min.bytes", "int", 1, "Bytes that a broker waits for before it answers a fetch.", least=0),
        Declared(
            "fetch.wait.max.ms", "int", 100, "Longest time that a broker waits for fetch.min.bytes, in ms.", least=0
        ),
        Declared(
            "rebalance.backoff.ms",
            "int",
            None,
            "Wait between two tries of a rebalance, in ms; by default zookeeper.sync.time.ms.",
            least=0,
        ),
        Declared(
            "refresh.leader.backoff.ms",
            "int",
            200,
            "Wait before the new leader of a partition is looked up, in ms.",
            ("fetcher.backoff.ms", "backoff.increment.ms"),
            least=0,
        ),
        Declared(
            "auto.offset.reset",
            "string",
            "largest",
            "Start offset if none is stored, or the stored one is out of range: smallest, largest; with another value "
            "the stream raises OffsetOutOfRangeError.",
            ("autooffset.reset",),
        ),
        Declared(
            "consumer.timeout.ms",
            "int",
            -1,
            "Time that a stream waits for a message before it raises ConsumerTimeoutError, in ms; -1: no limit.",
            least=-1,
        ),
        Declared(
            "exclude.internal.topics",
            "boolean",
            True,
            "Exclude __consumer_offsets and __transaction_state from white and black lists.",
        ),
        Declared(
            "partition.assignment.strategy",
            "string",
            "range",
            "Assignment strategy; the same for all members of a group.",
            choices=tuple(STRATEGIES),
        ),
        Declared(
            "zookeeper.session.timeout.ms",
            "int",
            6_000,
            "Session timeout with ZooKeeper, in ms.",
            ("zk.sessiontimeout.ms",),
            least=1,
        ),
        Declared(
            "zookeeper.connection.timeout.ms",
            "int",
            None,
            "Timeout of the first connection to ZooKeeper, in ms; by default the session timeout.",
            ("zk.connectiontimeout.ms",),
            least=1,
        ),
        Declared(
            "zookeeper.sync.time.ms",
            "int",
            2_000,
            "Largest delay of a ZooKeeper follower, in ms.",
            ("zk.synctime.ms",),
            least=0,
        ),
        Declared(
            "offsets.storage",
            "string",
            "zookeeper",
            "Storage of offsets: zookeeper, kafka.",
            choices=("zookeeper", "kafka"),
        ),
        Declared(
            "dual.commit.enabled",
            "boolean",
            None,
            "With offsets.storage=kafka: also commit to ZooKeeper, and start at the larger offset; true by default so.",
        ),
        Declared(
            "offsets.channel.backoff.ms",
            "int",
            1_000,
            "Wait before a request to the group's coordinator is repeated, in ms.",
            least=0,
        ),
        Declared(
            "offsets.channel.socket.timeout.ms",
            "int",
            10_000,
            "Timeout of a request to the coordinator, in ms.",
            least=1,
        ),
        Declared(
            "offsets.commit.max.retries",
            "int",
            5,
            "Retries of a commit that is not automatic.",
            least=0,
        ),
        Declared("mirror.topics.whitelist", "string", None, "", refusal=_NO_MIRROR),
        Declared("mirror.topics.blacklist", "string", None, "", refusal=_NO_MIRROR),
        Declared("mirror.consumer.numthreads", "int", None, "", refusal=_NO_MIRROR),
    ),
)
