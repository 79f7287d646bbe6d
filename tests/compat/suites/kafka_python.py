"""kafka-python's integration tests, of its last version with the old API and of a new one.

They start Kafka by themselves, or use the broker that `KAFKA_URI` names. The archive lacks the module by which they do
the former, which they import either way: ours has no more than the names. Each file gets a broker of its own, as it
does from their fixtures.
"""

from functools import partial

from tests.compat.suites import sdists
from tests.compat.suites.suite import CACHE, Place, Suite

_SERVICE = '''"""What test/integration/fixtures.py imports; the tests run against a broker that runs."""


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def stop(self):
        pass

    def dump_logs(self):
        pass


class SpawnedService:
    def __init__(self, *arguments):
        raise NotImplementedError("only for tests that start a broker of their own")
'''
# The clients forget a subscription that is made while their first metadata request is under way, until the next one: by
# default that is 300 s later, and a test of theirs fails now and then on a loaded machine, on Kafka, too. Some of them
# wait for two seconds in all.
_SHORT_AGE = '''"""The clients of these tests ask for metadata every 300 ms."""

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

for client in (KafkaAdminClient, KafkaConsumer, KafkaProducer):
    client.DEFAULT_CONFIG["metadata_max_age_ms"] = 300
'''
_ADDITIONS = {"test/__init__.py": _SHORT_AGE, "test/service.py": _SERVICE}
_NEW = sdists.SourceDistribution(
    "kafka-python", "3.0.12", "4ccda3616b9aa5c353d74a97f2770d6cd1b950890d77ab0e8890e09a48eeed65", _ADDITIONS
)
_OLD = sdists.SourceDistribution(
    "kafka-python", "2.2.15", "e0f480a45f3814cb0eb705b8b4f61069e1be61dae0d8c69d0f1f2da33eea1bd5", _ADDITIONS
)
_SETTINGS = {
    "num.partitions": "4",
    # Two tests ask for sessions of 3 s.
    "group.min.session.timeout.ms": "1000",
}


def _run(archive: sdists.SourceDistribution, part: str, place: Place) -> dict[str, str]:
    environment = {
        "KAFKA_URI": f"kafka://{place.bootstrap_servers}",
        "KAFKA_VERSION": "2.7.2",
        # Looked for, and not used.
        "KAFKA_ROOT": str(CACHE),
    }
    # Their own options would write 5 MB of log.
    options = ["-o", "addopts=", "-o", "log_level=WARNING", "--timeout=120", "--quiet", "-rA", "--tb=short"]
    return sdists.run(archive.unpacked(), f"test/integration/{part}.py", place, environment, options)


def _prepare(archive: sdists.SourceDistribution) -> None:
    archive.unpacked()


_AUTHORIZER = "their brokers have an authorizer; without one Kafka answers SECURITY_DISABLED"
_NEWER = "APIs of Kafka 4"
NEW = Suite(
    name="kafka-python",
    version=_NEW.version,
    prepare=partial(_prepare, _NEW),
    run=partial(_run, _NEW),
    # test_sasl_integration and test_ssl_integration want brokers with SASL and TLS of their own making.
    parts=("test_admin_integration", "test_consumer_integration", "test_producer_integration"),
    settings=_SETTINGS,
    fails={"*::test_create_describe_delete_acls": _AUTHORIZER},
    skips={
        "*::test_describe_metadata_quorum": _NEWER,
        "*::test_describe_topic_partitions*": _NEWER,
        "*::test_list_config_resources*": _NEWER,
        "*::test_kafka_consumer_offsets_for_time_old": "for Kafka before 0.10.1",
    },
)
OLD = Suite(
    name="kafka-python-2",
    version=_OLD.version,
    prepare=partial(_prepare, _OLD),
    run=partial(_run, _OLD),
    parts=("test_admin_integration", "test_consumer_group", "test_consumer_integration", "test_producer_integration"),
    settings=_SETTINGS,
    fails={"*::test_create_describe_delete_acls": _AUTHORIZER},
    skips={
        "*::test_kafka_version_infer": "for Kafka before 2.6.1",
        "*::test_kafka_consumer_offsets_for_time_old": "for Kafka before 0.10.1",
    },
)
