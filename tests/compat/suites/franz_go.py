"""franz-go's tests of its client, `pkg/kgo`.

They produce to a topic and send the records on through chains of consumer groups, or of transactions, with each of
franz-go's balancers, members that come and leave, and static members; beside these are tests of single questions and of
the client alone. `KGO_SEEDS` tells them the broker, `KGO_TEST_RF` the replication factor, `KGO_TEST_RECORDS` how many
records go through each chain.
"""

from dataclasses import replace

from tests.compat.suites import go_modules
from tests.compat.suites.suite import Place, Suite

_KGO = go_modules.GoPackage("franz-go", "github.com/twmb/franz-go/pkg/kgo")
_RECORDS, _LONG_RECORDS = 5_000, 500_000
"""The second is the suite's own number."""
_LIMIT_S, _LONG_LIMIT_S = 300, 3600
_SLOW = ("TestIssue337", "TestIssue434", "TestIssue523")
"""These wait 10 s and more: they are in the long form alone."""


def _prepare() -> None:
    _KGO.built()


def _run(_part: str, place: Place) -> dict[str, str]:
    environment = {
        "KGO_SEEDS": place.bootstrap_servers,
        "KGO_TEST_RF": str(place.broker_count),
        "KGO_TEST_RECORDS": str(_LONG_RECORDS if place.is_long else _RECORDS),
        "KGO_LOG_LEVEL": "none",
    }
    if place.is_long:
        return go_modules.run(_KGO, place, environment, _LONG_LIMIT_S)
    return go_modules.run(_KGO, place, environment, _LIMIT_S, [f"-test.skip=^({'|'.join(_SLOW)})$"])


_848 = "the protocol for groups of Kafka 4 (KIP-848)"
_SHARE = "share groups (Kafka 4.2)"
SUITE = Suite(
    name="franz-go",
    version="1.22.2",
    prepare=_prepare,
    run=_run,
    skips={
        "*/848": _848,
        "*/848/static": _848,
        "Test848RegexBrokerResolves": _848,
        "TestConsumeRegexShareSkipsInternal": _SHARE,
        "TestShareGroup*": _SHARE,
        "TestSCRAMAuth*": "only where SCRAM is set up",
        "TestIssueProduceBrokerTooOldFailsRecords": "only where Produce before v3 is gone (Kafka 4)",
    },
)
CLUSTER = replace(SUITE, name="franz-go-cluster", broker_count=3)
"""The same against three brokers, with three replicas of each topic."""
