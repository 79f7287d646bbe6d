"""`barnabas broker --check`: files as users of Kafka have them, and what is said of each."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.broker.server import main

# The settings of the config/server.properties that Kafka 2.7.2 ships.
KAFKAS = """
broker.id=0
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kafka-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
zookeeper.connect=localhost:2181
zookeeper.connection.timeout.ms=18000
group.initial.rebalance.delay.ms=0
"""

CLASSES = """
alter.config.policy.class.name=com.example.Alter
authorizer.class.name=com.example.Authorizer
client.quota.callback.class=com.example.Quotas
create.topic.policy.class.name=com.example.Create
principal.builder.class=com.example.Builder
replica.selector.class=com.example.Selector
sasl.client.callback.handler.class=com.example.Client
sasl.login.callback.handler.class=com.example.Login
sasl.login.class=com.example.LoginManager
sasl.server.callback.handler.class=com.example.Server
security.providers=com.example.Providers
ssl.engine.factory.class=com.example.Engine
listener.name.plaintext.principal.builder.class=com.example.Builder
listener.name.plaintext.plain.sasl.server.callback.handler.class=com.example.Server
metric.reporters=com.example.Reporter
kafka.metrics.reporters=com.example.Yammer
"""

CONFLUENTS = """
confluent.license.topic.replication.factor=1
confluent.metrics.reporter.bootstrap.servers=localhost:9092
confluent.support.metrics.enable=false
metric.reporters=io.confluent.metrics.reporter.ConfluentMetricsReporter
"""


class Said:
    """What a check printed."""

    def __init__(self, code: int, text: str) -> None:
        self.code, self.text = code, text

    def names(self, heading: str) -> list[str]:
        """The line and the name of each setting below a heading."""
        part = re.search(rf"^{heading}.*:\n((?: .*\n)*)", self.text, re.MULTILINE)
        lines = re.sub(r"\n {3,}", " ", part[1]).splitlines() if part else []
        return [re.sub(r"^ *(?:\S+properties:(\d+): )?([^\s=:;]+).*", r"\1 \2", line).strip() for line in lines]

    @property
    def stopping(self) -> list[str]:
        return self.names("Stop")

    @property
    def ignored(self) -> list[str]:
        return self.names("Have no effect")

    @property
    def unknown(self) -> list[str]:
        return self.names("Are unknown")


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Check the text of a file."""
    monkeypatch.chdir(tmp_path)

    def checked(text: str, *options: str) -> Said:
        Path("server.properties").write_text(text.lstrip())
        code = main.check(main.parser().parse_args(["--check", "server.properties", *options]))
        said = capsys.readouterr()
        assert said.err == ""
        assert [line for line in said.out.splitlines() if len(line) > 80 and " " in line.strip()] == []
        return Said(code, said.out)

    return checked


@pytest.mark.parametrize(
    ("text", "stopping", "ignored", "unknown"),
    [
        (KAFKAS, [], [], []),
        (CLASSES, [line.partition("=")[0] for line in CLASSES.split()[:14]], CLASSES.split()[14:], []),
        (
            CONFLUENTS,
            [],
            ["metric.reporters"],
            [line.partition("=")[0] for line in CONFLUENTS.split() if line.startswith("confluent")],
        ),
        (
            "jmx.port=9999\nlog4j.logger.kafka=INFO\nmax.message.bytes=1",
            [],
            [],
            ["jmx.port", "log4j.logger.kafka", "max.message.bytes"],
        ),
        ("num.partition=3\nqueued.max.requests=500\n", [], ["queued.max.requests"], ["num.partition"]),
        (
            "listeners=9092\nbroker.id=one\nlog.segment.bytes=1\nlog.dirs=\nnum.partitions=0",
            ["listeners", "broker.id", "log.segment.bytes", "log.dirs", "num.partitions"],
            [],
            [],
        ),
        ("barnabas.http.listener=:1\nbarnabas.http.listeners=:1", ["barnabas.http.listener"], [], []),
        (
            "listeners=SASL_SSL://:9093\nsecurity.inter.broker.protocol=SASL_SSL\nleader.replication.throttled.rate=1",
            ["listener", "listener"],
            [],
            ["leader.replication.throttled.rate"],
        ),
        (
            "listeners=INT://:1,Users://:2\nlistener.security.protocol.map=INT:PLAINTEXT,Users:SASL_PLAINTEXT\n"
            "inter.broker.listener.name=INT\nlistener.name.users.max.connections=5\n"
            "listener.name.Users.max.connections=5\nlistener.name.uesrs.connections.max.reauth.ms=1\n"
            "listener.name.users.sasl.enabled.mechanisms=SCRAM-SHA-256\nlistener.name.users.PLAIN.sasl.jaas.config=x\n"
            "listener.name.registry.ssl.client.auth=required",
            [],
            [
                "listener.name.Users.max.connections",
                "listener.name.uesrs.connections.max.reauth.ms",
                "listener.name.users.PLAIN.sasl.jaas.config",
            ],
            [],
        ),
    ],
    ids=["kafkas", "classes", "confluents", "others", "misspelt", "impossible", "own", "secured", "no-listener"],
)
def test_a_check_names_all_that_a_start_would(check, text, stopping, ignored, unknown) -> None:
    names = [line.partition("=")[0] for line in text.split()]

    def with_lines(wanted: list[str]) -> list[str]:
        found = (each.partition("=")[0] for each in wanted)
        return [f"{names.index(each) + 1} {each}" if each in names else each for each in found]

    said = check(text)
    assert (said.stopping, said.ignored, said.unknown) == tuple(map(with_lines, (stopping, ignored, unknown)))
    assert said.code == (1 if stopping else 0)


def test_a_misspelt_name_is_told_with_the_nearest_one(check) -> None:
    assert "num.partition; did you mean num.partitions?" in check("num.partition=3").text


def test_options_win_over_the_file_and_are_checked_too(check) -> None:
    assert check("num.partitions=many", "--override", "num.partitions=3").code == 0
    said = check("num.partitions=3", "--override", "num.partitions=many", "--override", "jmx.port=1")
    assert (said.code, said.stopping, said.unknown) == (1, ["num.partitions"], ["jmx.port"])


def test_a_check_takes_no_port_and_makes_no_directory(check, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = check(f"listeners=PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}\nlog.dirs={tmp_path}/data")
    assert said.code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["server.properties"]


def test_a_start_tells_all_problems_at_once(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=many\nbroker.id=one\n")
    command = [sys.executable, "-P", "-m", "barnabas.broker.server.main", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert [line.partition("=")[0] for line in ran.stderr.splitlines()] == [
        f"barnabas broker: {file}:1: num.partitions",
        f"barnabas broker: {file}:2: broker.id",
    ]
