"""kafka-go's tests of its client (segmentio), those of its root package.

They name the broker themselves, `localhost:9092` with the id 1, so they run with it in a network namespace. Each
request of the protocol that it knows has a test of its own; others read, write and join groups.
"""

from tests.compat.suites import go_modules
from tests.compat.suites.suite import Place, Suite

_PACKAGE = go_modules.GoPackage("kafka-go", "github.com/segmentio/kafka-go")
_LIMIT_S = 540
_PANICS = "|".join(
    f"^TestReaderConsumerGroup$/{subtest}" for subtest in ("verify_offset_committed", "consumer_group_commits_on_close")
)
"""These call a function that nobody set, whatever the broker says, and end the whole run by it."""
_TOO_SLOW = "its 30 s end before the two readers share the partitions, whatever the rebalance delay"
_SASL = "their broker has a listener with SASL on port 9093"


def _prepare() -> None:
    _PACKAGE.built()


def _run(_part: str, place: Place) -> dict[str, str]:
    # What KAFKA_SKIP_NETTEST skips tests Go's net.Conn, and nothing of Kafka's.
    environment = {"KAFKA_VERSION": "2.7.2", "KAFKA_SKIP_NETTEST": "1"}
    return go_modules.run(_PACKAGE, place, environment, _LIMIT_S, [f"-test.skip={_PANICS}"])


SUITE = Suite(
    name="kafka-go",
    version="0.4.51",
    prepare=_prepare,
    run=_run,
    port=9092,
    settings={"broker.id": "1", "message.max.bytes": "200000000"},
    fails={
        "TestClient*ACLs": "their broker has an authorizer; without one Kafka answers SECURITY_DISABLED",
        "TestReaderConsumerGroup": _TOO_SLOW,
        "TestReaderConsumerGroup/consumer_group_rebalance": _TOO_SLOW,
        "TestUnsupportedSASLMechanism": _SASL,
        "TestWriter": _SASL,
        "TestWriter/*SASL*": _SASL,
    },
    skips={
        "TestConn/nettest": "asked for: it tests Go's net.Conn",
        "TestConsumerGroupWithMissingTopic": "by its authors",
        "TestReadTruncatedMessages": "by its authors",
    },
)
