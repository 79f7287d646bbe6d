"""What Kafka 2.7.2's own tool prints of every setting of a broker and of a topic."""

import json
from pathlib import Path

from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.compat.conftest import StartBroker
from tests.compat.raw import ask
from tools.kafka.java import run_tool

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden/described-configs.txt"
# Those with which the golden lines were recorded.
SETTINGS = {
    "num.network.threads": "2",
    "num.io.threads": "2",
    "offsets.topic.num.partitions": "5",
    "log.retention.hours": "100",
}
# What each run has of its own, and what only one of the two brokers is given.
BEYOND = [each["name"] for each in json.loads((ROOT / "schemas/barnabas-configs.json").read_text())["broker"]]
OWN = (
    *("listeners=", "log.dirs=", "zookeeper.connect=", "zookeeper.session.timeout.ms="),
    *(f"{name}=" for name in BEYOND),
)

_TOPIC, _BROKER, _BROKER_LOGGER = 2, 4, 8
_SET = 0


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


def test_documentation_is_there_when_it_is_asked_for(start_broker: StartBroker) -> None:
    """The words are each broker's own; which entries have any is the same."""
    broker = start_broker(**SETTINGS, **{"listener.name.plaintext.max.connections": "50"})

    def ask_for(request):
        return ask(broker.bootstrap_servers, request, request.MAX_VERSION)

    ask_for(CreateTopicsRequest([CreatableTopic("t", 1, 1)], 60_000))
    rates = {f"{role}.replication.throttled.rate": "100000" for role in ("leader", "follower")}
    changes = [AlterableConfig(name, _SET, rate) for name, rate in rates.items()]
    changed = ask_for(IncrementalAlterConfigsRequest([AlterConfigsResource(_BROKER, "0", changes)]))
    assert changed.responses[0].error_code == 0
    resources = [DescribeConfigsResource(kind, name, None) for kind, name in ((_TOPIC, "t"), (_BROKER, "0"))]
    resources.append(DescribeConfigsResource(_BROKER_LOGGER, "0", None))
    for is_wanted in (False, True):
        answer = ask_for(DescribeConfigsRequest(resources, include_documentation=is_wanted))
        topic, own, loggers = ({each.name: each.documentation for each in result.configs} for result in answer.results)
        assert set(loggers.values()) == {""}
        if is_wanted:
            assert [name for name, text in topic.items() if not text] == []
            undocumented = {*rates, "listener.name.plaintext.max.connections"}
            assert {name for name, text in own.items() if not text} == undocumented
        else:
            assert {*topic.values(), *own.values()} == {None}
