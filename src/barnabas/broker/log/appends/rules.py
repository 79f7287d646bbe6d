"""The rules for appends that follow from a topic's settings.

Invariant: an `AppendRules` object never changes; the log gets a new object when the settings change. Any thread can
read it, and an append uses the same rules from start to end.

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
    """A topic's rules for appends; read-only.

    Attributes:
        magic: The magic for the topic's message.format.version.
        codec: The codec for the topic's compression.type; None keeps the producer's codec.
        max_message_bytes: The topic's max.message.bytes.
        is_log_append_time: Whether records get the time of the append.
        has_zstd: Whether zstd may be written.
        walk: The checks of the records.
        need_a_walk: Whether the records of every client batch must be read one by one.
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
        topic_partition: The name for error messages, such as `topic-0`.
        validates_records: Whether barnabas.record.validation is `full`.
        has_zstd: Whether inter.broker.protocol.version supports zstd.
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
