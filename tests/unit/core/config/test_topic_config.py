import pytest

from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.config.settings import format_value
from barnabas.core.config.support import startup_warnings
from barnabas.core.errors import ConfigError


@pytest.fixture
def defaults():
    return TopicConfig.from_broker(BrokerConfig.single_broker())


def test_a_topic_stands_on_the_brokers_settings():
    broker = BrokerConfig.single_broker({"log.retention.hours": "1", "log.segment.bytes": "1000", "log.roll.ms": "5"})
    topic = TopicConfig.from_broker(broker)
    assert (topic.retention_ms, topic.segment_bytes, topic.segment_ms) == (3_600_000, 1000, 5)


def test_overrides_replace_those_of_before(defaults):
    first = defaults.with_overrides({"segment.bytes": "20", "cleanup.policy": "compact, delete"})
    assert (first.segment_bytes, first.cleanup_policy) == (20, ["compact", "delete"])
    second = first.with_overrides({"retention.ms": "-1"})
    assert (second.segment_bytes, second.retention_ms, second.overrides) == (1_073_741_824, -1, {"retention.ms": "-1"})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("segment.bytes", "1", "Invalid value 1 for configuration segment.bytes: Value must be at least 14"),
        ("segment.bytes", "x", "Invalid value x for configuration segment.bytes: Not a number of type INT"),
        ("retention.ms", "9" * 5000, "Not a number of type LONG"),
        ("min.cleanable.dirty.ratio", "2", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "nan", "Value must be at least 0"),
        ("preallocate", "x", "Expected value to be either true or false"),
        ("cleanup.policy", "keep", "String must be one of: compact, delete"),
        ("leader.replication.throttled.replicas", "1", "must be the literal '*' or a list of replicas"),
        ("colour", "blue", "Unknown topic config name: colour"),
        ("min.compaction.lag.ms", str(2**63), "Not a number of type LONG"),
    ],
)
def test_errors_are_kafkas(defaults, name, value, message):
    with pytest.raises(ConfigError) as caught:
        defaults.with_overrides({name: value})
    assert message in str(caught.value)


def test_compaction_lags_must_fit_each_other(defaults):
    with pytest.raises(ConfigError, match=r"conflict topic config setting min\.compaction\.lag\.ms \(5\)"):
        defaults.with_overrides({"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"})


@pytest.mark.parametrize("version", ["2.7", "2.7.2", "2.7-IV2", "0.11.0", "0.11.0.3"])
def test_versions_may_be_short(defaults, version):
    config = defaults.with_overrides({"message.format.version": version})
    assert config.message_format_version == version


def test_one_warning_names_what_does_nothing_and_one_each_unknown_name():
    broker = BrokerConfig.from_properties(
        {
            "queued.max.requests": "8",
            "metric.reporters": "a.B",
            "zookeeper.sync.time.ms": "1",
            "num.partitions": "2",
            "num.partition": "2",
            "listener.name.a.ssl.client.auht": "required",
            "max.message.bytes": "1",
            "leader.replication.throttled.rate": "1",
            "jmx.port": "1",
            "sasl.kerberos.service.name": "kafka",
        }
    )
    ineffective, *unknown = startup_warnings(broker)
    assert ineffective == (
        "without effect here: metric.reporters, queued.max.requests, sasl.kerberos.service.name, zookeeper.sync.time.ms"
    )
    assert unknown == [
        f"The configuration '{name}' was supplied but isn't a known config{hint}"
        for name, hint in (
            ("jmx.port", "."),
            ("leader.replication.throttled.rate", "; it can only be set while the broker runs (barnabas configs)"),
            ("listener.name.a.ssl.client.auht", "; did you mean listener.name.a.ssl.client.auth?"),
            ("max.message.bytes", "; did you mean message.max.bytes?"),
            ("num.partition", "; did you mean num.partitions?"),
        )
    ]
    assert startup_warnings(BrokerConfig.single_broker()) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (1e9, "1.0E9"),
        (12345678.25, "1.234567825E7"),
        (0.5, "0.5"),
        (1e-4, "1.0E-4"),
        (True, "true"),
        (["a", "b"], "a,b"),
        ([], ""),
        (-1, "-1"),
        (None, None),
    ],
)
def test_values_are_written_as_java_does(value, text):
    assert format_value(value) == text


def test_what_another_program_wrote_counts_as_far_as_it_can_be():
    config = TopicConfig.from_broker(BrokerConfig.single_broker())
    written = {"retention.ms": "5", "no.such": "1", "segment.bytes": "x", "cleanup.policy": "compact"}
    possible, reasons = config.with_possible(written)
    assert possible.overrides == {"retention.ms": "5", "cleanup.policy": "compact"}
    assert (possible.retention_ms, possible.segment_bytes) == (5, config.segment_bytes)
    assert [reason.partition(":")[0] for reason in reasons] == [
        "Unknown topic config name",
        "Invalid value x for configuration segment.bytes",
    ]
    assert config.with_possible({"retention.ms": "5"})[1] == []


def test_lags_of_the_broker_that_contradict_each_other_or_the_topics_do_not_make_topics_impossible() -> None:
    broker = BrokerConfig.from_properties(
        {"log.cleaner.min.compaction.lag.ms": "2000", "log.cleaner.max.compaction.lag.ms": "1000"}
    )
    config = TopicConfig.from_broker(broker)
    assert config.with_overrides({"retention.ms": "5"}).retention_ms == 5
    assert config.with_possible({"max.compaction.lag.ms": "500"})[1] == []
    with pytest.raises(ConfigError, match=r"min\.compaction\.lag\.ms \(7\) > max\.compaction\.lag\.ms \(6\)"):
        config.with_overrides({"min.compaction.lag.ms": "7", "max.compaction.lag.ms": "6"})
