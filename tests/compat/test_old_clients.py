"""Java clients of 0.10.2 and 0.11, by their console tools: old requests, old record formats, a group's offsets."""

import pytest

from tests.compat.conftest import RunningBroker
from tools.kafka.java import run_tool


@pytest.mark.parametrize("jar_set", ["kafka-0.10.2.2", pytest.param("kafka-0.11.0.3", marks=pytest.mark.whole)])
def test_old_java_clients_produce_consume_in_a_group_and_go_on_where_it_committed(
    cluster: RunningBroker, name: str, jar_set: str
) -> None:
    def produce(values: list[str], codec: str) -> None:
        result = run_tool(
            "kafka.tools.ConsoleProducer",
            *("--broker-list", cluster.bootstrap_servers, "--topic", name),
            *("--compression-codec", codec, "--request-required-acks", "-1"),
            stdin="".join(f"{value}\n" for value in values),
            jar_set=jar_set,
        )
        assert result.returncode == 0, result.stderr

    def consume(count: int) -> list[str]:
        result = run_tool(
            "kafka.tools.ConsoleConsumer",
            *("--bootstrap-server", cluster.bootstrap_servers, "--topic", name, "--from-beginning"),
            *("--consumer-property", f"group.id={name}", "--max-messages", str(count), "--new-consumer"),
            jar_set=jar_set,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout.splitlines()

    first, second = [f"first-{number}" for number in range(100)], [f"second-{number}" for number in range(30)]
    produce(first, "gzip")
    assert consume(100) == first
    # What was read was committed when the consumer closed.
    produce(second, "none")
    assert consume(30) == second
    described = run_tool(
        "kafka.admin.ConsumerGroupCommand",
        *("--bootstrap-server", cluster.bootstrap_servers, "--describe", "--group", name),
        jar_set=jar_set,
    )
    assert described.returncode == 0, described.stderr
    rows = [line.split() for line in described.stdout.splitlines() if line.startswith(name)]
    # Topic, partition, committed offset, end, lag.
    assert [row[:5] for row in rows] == [[name, "0", "130", "130", "0"]], described.stdout
