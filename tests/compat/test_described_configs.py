"""What Kafka 2.7.2's own tool prints of every setting of a broker and of a topic."""

from pathlib import Path

from tests.compat.conftest import StartBroker
from tools.kafka.java import run_tool

GOLDEN = Path(__file__).parents[1] / "golden/described-configs.txt"
# Those with which the golden lines were recorded.
SETTINGS = {
    "num.network.threads": "2",
    "num.io.threads": "2",
    "offsets.topic.num.partitions": "5",
    "log.retention.hours": "100",
}
# What each run has of its own, and what only one of the two brokers is given.
OWN = ("listeners=", "log.dirs=", "zookeeper.connect=", "zookeeper.session.timeout.ms=", "barnabas.")


def printed(bootstrap_servers: str, *entity: str) -> set[str]:
    result = run_tool(
        "kafka.admin.ConfigCommand", "--bootstrap-server", bootstrap_servers, "--describe", "--all", *entity
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return {line for line in result.stdout.splitlines() if line.startswith("  ") and not line.strip().startswith(OWN)}


def test_every_setting_is_printed_with_its_value_and_its_synonyms(start_broker: StartBroker) -> None:
    broker = start_broker(**SETTINGS)
    created = run_tool(
        *("kafka.admin.TopicCommand", "--bootstrap-server", broker.bootstrap_servers, "--create", "--topic", "t"),
        *("--config", "segment.bytes=10000"),
    )
    assert created.returncode == 0, created.stdout + created.stderr
    expected = {line for line in GOLDEN.read_text().splitlines()[1:] if not line.strip().startswith(OWN)}
    ours = printed(broker.bootstrap_servers, "--entity-type", "brokers", "--entity-name", "0")
    ours |= printed(broker.bootstrap_servers, "--entity-type", "topics", "--entity-name", "t")
    assert ours == expected
