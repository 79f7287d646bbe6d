import pytest

from barnabas.clients.admin_configs import ConfigEntry, ConfigSource
from barnabas.clients.mirror.plan import (
    MirroredCluster,
    MirrorPlan,
    check_clusters,
    files_of,
    is_mirrored,
    parse_sources,
)
from barnabas.clients.mirror.topics import target_settings
from barnabas.clients.positions import PlanError
from barnabas.core.errors import ConfigError

HERE = MirroredCluster("127.0.0.1:9092")


def plan(prefix: str = "") -> MirrorPlan:
    return MirrorPlan("m", "west", HERE, HERE, ("t",), prefix)


def test_sources_have_aliases():
    assert parse_sources(["a:1,b:2"]) == {"source": "a:1,b:2"}
    assert parse_sources(["west=a:1", "north=b:2"]) == {"west": "a:1", "north": "b:2"}


@pytest.mark.parametrize("texts", [["a:1", "b:2"], ["x=a:1", "x=b:2"], ["=a:1"], ["x="], ["a/b=c:1"]])
def test_sources_that_can_not_be(texts: list[str]):
    with pytest.raises(PlanError, match="--source "):
        parse_sources(texts)


def test_files_are_of_all_sources_or_of_one_that_there_is():
    assert files_of(["a", "west=b", "c"], ["west", "north"]) == {"west": ["a", "c", "b"], "north": ["a", "c"]}
    with pytest.raises(PlanError, match=r"--source-config east=\.\.\.: no --source is called so; there is west"):
        files_of(["east=f"], ["west"])


def test_a_time_is_a_number():
    assert MirroredCluster("a:1", {"transaction.timeout.ms": "20000"}).transaction_timeout_ms == 20_000
    with pytest.raises(ConfigError, match=r"request\.timeout\.ms=soon must be a number of milliseconds"):
        MirroredCluster("a:1", {"request.timeout.ms": "soon"}).pool()


def test_a_prefix_may_have_the_alias_in_it():
    assert [plan(text).target_topic("t") for text in ("", "copy-", "{source}.")] == ["t", "copy-t", "west.t"]


def test_a_cluster_is_not_mirrored_onto_itself():
    check_clusters(plan(), "1", "2")
    check_clusters(plan("copy-"), "1", "1")
    with pytest.raises(PlanError, match="source and target are the same cluster"):
        check_clusters(plan(), "1", "1")


def test_a_pattern_does_not_take_what_clusters_keep_for_themselves():
    assert [is_mirrored(topic) for topic in ("t", "__consumer_offsets", "barnabas-mirror-offsets")] == [
        True,
        False,
        False,
    ]


def entry(name: str, value: str, source: ConfigSource = ConfigSource.DYNAMIC_TOPIC_CONFIG) -> ConfigEntry:
    return ConfigEntry(name, value, source, False, False, [])


def test_a_target_has_what_was_set_for_the_source_alone():
    configs = [
        entry("retention.ms", "5"),
        entry("segment.bytes", "100", ConfigSource.DEFAULT_CONFIG),
        entry("leader.replication.throttled.replicas", "*"),
        entry("message.timestamp.difference.max.ms", "2000"),
        entry("min.insync.replicas", "2"),
        entry("unclean.leader.election.enable", "true"),
        entry("message.timestamp.type", "LogAppendTime"),
    ]
    assert target_settings(configs) == ({"retention.ms": "5", "message.timestamp.type": "CreateTime"}, True)
    assert target_settings([]) == ({"message.timestamp.type": "CreateTime"}, False)
