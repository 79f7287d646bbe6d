"""The rules for appends that follow from a topic's settings.

Invariant: rules never change; when the settings do, the log gets new ones. So they can be read in any thread, and an
append ends by the rules it began with.

Source: semantics facts, Produce, checks 8 to 10.
"""

from barnabas.broker.log.config import LogConfig
from barnabas.core.config.versions import message_magic
from barnabas.wire.records.batch import MAGIC, Codec
from barnabas.wire.records.record_rules import WalkRules

LOG_APPEND_TIME = "LogAppendTime"
COMPACT = "compact"

_CODECS = {
    "producer": None,
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


class AppendRules:
    """Read-only.

    Attributes:
        magic: That of the topic's message.format.version.
        codec: That of its compression.type; None keeps the producer's.
        max_message_bytes: Its max.message.bytes.
        is_log_append_time: Whether records get the time of the append.
        has_zstd: Whether zstd may be written.
        walk: The checks of the records.
        need_a_walk: Whether every client's batch is looked at record by record.
    """

    __slots__ = (
        "codec",
        "has_zstd",
        "is_log_append_time",
        "magic",
        "max_message_bytes",
        "need_a_walk",
        "walk",
    )

    def __init__(self, config: LogConfig, topic_partition: str, *, validates_records: bool, has_zstd: bool) -> None:
        """Args:
        config: The topic's settings.
        topic_partition: As reasons name it, `topic-0`.
        validates_records: barnabas.record.validation=full.
        has_zstd: Whether inter.broker.protocol.version knows zstd.
        """
        self.magic = message_magic(config.message_format_version)
        self.codec = _CODECS[config.compression_type]
        self.max_message_bytes = config.max_message_bytes
        self.is_log_append_time = config.message_timestamp_type == LOG_APPEND_TIME
        self.has_zstd = has_zstd
        self.walk = WalkRules(
            config.message_timestamp_difference_max_ms,
            not self.is_log_append_time,
            COMPACT in config.cleanup_policy,
            topic_partition,
        )
        self.need_a_walk = self.magic < MAGIC or validates_records or self.walk.need_a_walk
