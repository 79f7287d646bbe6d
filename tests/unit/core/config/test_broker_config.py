import subprocess
import sys

import pytest

from barnabas.core.config import BrokerConfig, Endpoint, parse_properties
from barnabas.core.errors import ConfigError, InvalidSettingsError

HOUR_MS = 3_600_000


def config(text: str) -> BrokerConfig:
    properties, lines = parse_properties(text)
    return BrokerConfig.from_properties(properties, lines, "server.properties")


def test_defaults_are_kafkas():
    defaults = config("")
    assert (defaults.socket_request_max_bytes, defaults.message_max_bytes) == (104_857_600, 1_048_588)
    assert (defaults.log_dirs, defaults.log_retention_ms) == (["/tmp/kafka-logs"], 168 * HOUR_MS)
    assert (defaults.log_roll_ms, defaults.log_roll_jitter_ms) == (168 * HOUR_MS, 0)
    assert (defaults.log_flush_interval_ms, defaults.log_cleanup_policy) == (2**63 - 1, ["delete"])
    assert defaults.offsets_topic_replication_factor == 3
    assert defaults.endpoints == [Endpoint("PLAINTEXT", "", 9092, "PLAINTEXT")]


def test_without_a_file_it_is_one_broker_on_this_machine():
    single = BrokerConfig.single_broker()
    assert (single.broker_id, single.num_partitions, single.log_dirs) == (0, 1, ["./barnabas-data"])
    assert (single.offsets_topic_replication_factor, single.transaction_state_log_min_isr) == (1, 1)
    assert single.group_initial_rebalance_delay_ms == 0
    assert single.advertised_endpoints == [Endpoint("PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT")]
    assert single.given == frozenset()


def test_overrides_win_over_the_file(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=3\nbroker.id=7\n")
    merged = BrokerConfig.from_file(str(file), {"num.partitions": "5"})
    assert (merged.num_partitions, merged.broker_id) == (5, 7)
    assert merged.explicit == {"num.partitions": "5", "broker.id": "7"}


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("log.retention.hours=1", HOUR_MS),
        ("log.retention.hours=1\nlog.retention.minutes=2", 120_000),
        ("log.retention.hours=1\nlog.retention.minutes=2\nlog.retention.ms=3", 3),
        ("log.retention.hours=-1", -1),
        ("log.retention.minutes=-1", -1),
    ],
)
def test_the_finest_retention_wins(text, expected_ms):
    assert config(text).log_retention_ms == expected_ms


def test_raw_is_what_the_setting_itself_was_given():
    settings = config("log.retention.hours=1")
    assert settings.raw("log.retention.hours") == 1
    assert settings.raw("log.retention.ms") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a=1\nlog.segment.bytes=1",
            "server.properties:2: log.segment.bytes=1: must be a whole number from 14 to 2147483647",
        ),
        (
            "num.partitions=many",
            "server.properties:1: num.partitions=many: must be a whole number from 1 to 2147483647",
        ),
        (
            "broker.id=99999999999",
            "server.properties:1: broker.id=99999999999: must be a whole number from -2147483648",
        ),
        (
            "\nauto.create.topics.enable=yes",
            "server.properties:2: auto.create.topics.enable=yes: must be true or false",
        ),
        ("log.cleanup.policy=delete,keep", "must be a list of compact, delete"),
        ("log.message.timestamp.type=Now", "must be one of CreateTime, LogAppendTime"),
        ("compression.type=rar", "must be one of uncompressed, gzip, snappy, lz4, zstd, producer"),
        (
            "barnabas.http.listener=:1",
            "1: barnabas.http.listener: no such setting; did you mean barnabas.http.listeners?",
        ),
        (
            "log.retention.minutes=0",
            "server.properties:1: log.retention.minutes=0: must be -1 (no limit) or at least 1",
        ),
        ("broker.id=1001", "server.properties:1: broker.id=1001: must be from -1 to reserved.broker.max.id (1000)"),
        ("broker.id.generation.enable=false", "broker.id: must be 0 or more"),
        ("log.dirs=", "must name a directory"),
        ("log.dirs=, ,", "must name a directory"),
        ("listeners=,", "names no listener"),
        ("offsets.commit.required.acks=4", "must be from -1 to offsets.topic.replication.factor (3)"),
        ("queued.max.request.bytes=1", "must be -1 (what fits the machine) or at least socket.request.max.bytes"),
        (
            "replica.selector.class=my.Selector",
            "must be unset (consumers read from leaders) or org.apache.kafka.common.",
        ),
        ("authorizer.class.name=my.Authorizer", "must be empty (nobody is stopped) or kafka.security.authorizer.Acl"),
        ("allow.everyone.if.no.acl.found=perhaps", "allow.everyone.if.no.acl.found: must be true or false"),
        ("listeners=9092", "'9092' must be NAME://host:port, for example PLAINTEXT://127.0.0.1:9092"),
        ("listeners=INSIDE://:9093", "listener INSIDE has no security protocol"),
        ("listeners=PLAINTEXT://:1,PLAINTEXT://:2", "each listener must have a different name"),
        ("listeners=", "names no listener"),
        ("advertised.listeners=PLAINTEXT://0.0.0.0:9092", "clients cannot connect to 0.0.0.0"),
        (
            "listeners=PLAINTEXT://0.0.0.0:9092",
            "server.properties:1: listeners=PLAINTEXT://0.0.0.0:9092: clients cannot",
        ),
        ("listener.security.protocol.map=A:B", "'A:B' must be NAME:PROTOCOL with a protocol of PLAINTEXT"),
        (
            "inter.broker.listener.name=INSIDE",
            "Listener with name INSIDE defined in inter.broker.listener.name not found in "
            "listener.security.protocol.map.",
        ),
        (
            "inter.broker.listener.name=SSL",
            "inter.broker.listener.name=SSL: must be a listener name defined in advertised.listeners. The valid "
            "options based on currently configured listeners are PLAINTEXT",
        ),
        (
            "listeners=A://:9092\nlistener.security.protocol.map=A:PLAINTEXT",
            "inter.broker.listener.name: must be a listener name defined in advertised.listeners. The valid "
            "options based on currently configured listeners are A",
        ),
        (
            "inter.broker.listener.name=PLAINTEXT\nsecurity.inter.broker.protocol=PLAINTEXT",
            "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
        ),
        (
            "control.plane.listener.name=control",
            "Listener with CONTROL defined in control.plane.listener.name not found in listener.security.protocol.map.",
        ),
        (
            "control.plane.listener.name=SSL",
            "control.plane.listener.name=SSL: must be a listener name defined in advertised.listeners. The valid "
            "options based on currently configured listeners are PLAINTEXT",
        ),
        (
            "control.plane.listener.name=PLAINTEXT",
            "control.plane.listener.name=PLAINTEXT: when defined, should have a different value from the inter broker "
            "listener name. Currently they both have the value PLAINTEXT",
        ),
        ("security.inter.broker.protocol=TLS", "must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (
            "log.cleaner.dedupe.buffer.size=2097152\nlog.cleaner.threads=2",
            "log.cleaner.dedupe.buffer.size=2097152: must be more than 1 MB for each cleaner thread (2097152)",
        ),
        ("log.cleaner.threads=0", "log.cleaner.threads=0: must be at least 1"),
    ],
)
def test_an_impossible_setting_is_one_line_that_says_what_is_allowed(text, message):
    with pytest.raises(ConfigError) as caught:
        config(text.replace("a=1\n", "# comment\n"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("log.dirs=/a,", "log_dirs", ["/a"]),
        ("log.dirs=,/a, ,/b", "log_dirs", ["/a", "/b"]),
        ("log.dir=/a,,", "log_dirs", ["/a"]),
        ("listeners=PLAINTEXT://a:1,", "endpoints", [Endpoint("PLAINTEXT", "a", 1, "PLAINTEXT")]),
        ("advertised.listeners=PLAINTEXT://a:1,", "advertised_endpoints", [Endpoint("PLAINTEXT", "a", 1, "PLAINTEXT")]),
        ("listener.security.protocol.map=PLAINTEXT:PLAINTEXT,", "inter_broker_listener", "PLAINTEXT"),
        ("max.connections.per.ip.overrides=a:1,", "max_connections_per_ip_overrides", "a:1,"),
    ],
)
def test_empty_items_of_directories_listeners_and_pairs_are_ignored(text, name, expected):
    assert getattr(config(text), name) == expected


def test_all_problems_are_told_at_once_in_the_order_of_the_file():
    with pytest.raises(InvalidSettingsError) as caught:
        config(
            "broker.id=5000\nlisteners=9092\nnum.partitions=many\nlog.cleaner.threads=0\nbarnabas.colour=blue\n"
            "listener.name.a.plain.sasl.server.callback.handler.class=my.Handler\njmx.port=1"
        )
    assert [problem.partition("=")[0] for problem in caught.value.problems] == [
        "server.properties:1: broker.id",
        "server.properties:2: listeners",
        "server.properties:3: num.partitions",
        "server.properties:4: log.cleaner.threads",
        "server.properties:5: barnabas.colour: no such setting",
        "server.properties:6: listener.name.a.plain.sasl.server.callback.handler.class",
    ]


def test_unknown_names_are_kept_and_do_nothing():
    given = config("num.partition=7\njmx.port=9999\nlistener.name.a.nonsense=1")
    assert given.explicit.keys() == {"num.partition", "jmx.port", "listener.name.a.nonsense"}
    assert given.num_partitions == 1


def test_a_secret_is_not_in_the_error():
    with pytest.raises(ConfigError) as caught:
        config("log.retention.hours=0\nssl.key.password=secret")
    assert "secret" not in str(caught.value)


def test_listeners_may_have_names_of_their_own():
    settings = config(
        "listeners=INSIDE://127.0.0.1:9092,OUTSIDE://[::1]:9093\n"
        "listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT\n"
        "inter.broker.listener.name=inside\n"
        "advertised.listeners=INSIDE://a.example:1,OUTSIDE://b.example:2"
    )
    assert settings.endpoints == [
        Endpoint("INSIDE", "127.0.0.1", 9092, "PLAINTEXT"),
        Endpoint("OUTSIDE", "::1", 9093, "PLAINTEXT"),
    ]
    assert [str(endpoint) for endpoint in settings.advertised_endpoints] == [
        "INSIDE://a.example:1",
        "OUTSIDE://b.example:2",
    ]
    assert (settings.inter_broker_listener, settings.control_plane_listener) == ("INSIDE", "INSIDE")


def test_host_name_and_port_count_without_listeners():
    settings = config("host.name=127.0.0.1\nport=1234\nadvertised.host.name=me.example")
    assert settings.endpoints == [Endpoint("PLAINTEXT", "127.0.0.1", 1234, "PLAINTEXT")]
    assert settings.advertised_endpoints == [Endpoint("PLAINTEXT", "me.example", 1234, "PLAINTEXT")]


def test_settings_of_one_listener_are_known():
    assert config("listener.name.inside.ssl.key.password=x").explicit == {"listener.name.inside.ssl.key.password": "x"}


def test_white_space_around_a_value_is_ignored_for_every_type():
    settings = config("num.partitions = 3 \nlog.dirs=/a , /b \nzookeeper.connect=z:1 \npassword.encoder.secret=s \n")
    assert (settings.num_partitions, settings.log_dirs) == (3, ["/a", "/b"])
    assert (settings.zookeeper_connect, settings.password_encoder_secret) == ("z:1", "s")


def test_import_loads_nothing_heavy():
    heavy = ("asyncio", "json", "pathlib", "difflib")
    code = f"import sys, barnabas.core.config; print([name for name in {heavy} if name in sys.modules])"
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("given", "broker_id"),
    [({}, 0), ({"zookeeper.connect": "zoo:2181"}, -1), ({"zookeeper.connect": "zoo:2181", "broker.id": "0"}, 0)],
)
def test_a_broker_without_a_file_that_may_be_one_of_several_is_given_an_id(given: dict[str, str], broker_id: int):
    assert BrokerConfig.single_broker(given).broker_id == broker_id
