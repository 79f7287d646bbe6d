import pytest

from barnabas.pipeline.mirror.plan import MirrorPlan, check_clusters, is_mirrored, of_aliases, parse_sources
from barnabas.pipeline.mirror.targets import target_settings
from barnabas.pipeline.runner.cluster import KafkaOptions, TopicConfig
from barnabas.pipeline.runner.plan import PlanError

HERE = KafkaOptions("127.0.0.1:9092", {})


def plan(prefix: str = "") -> MirrorPlan:
    return MirrorPlan("m", "west", HERE, HERE, ("t",), "checkpoints", prefix)


def test_sources_have_aliases():
    assert parse_sources(["a:1,b:2"]) == {"source": "a:1,b:2"}
    assert parse_sources(["west=a:1", "north=b:2"]) == {"west": "a:1", "north": "b:2"}


@pytest.mark.parametrize("texts", [["a:1", "b:2"], ["x=a:1", "x=b:2"], ["=a:1"], ["x="], ["a/b=c:1"]])
def test_sources_that_can_not_be(texts: list[str]):
    with pytest.raises(PlanError, match="--source "):
        parse_sources(texts)


def test_options_are_for_sources_that_there_are():
    assert of_aliases({"west": "f"}, ["west", "north"], "--source-config") == {"west": "f"}
    with pytest.raises(PlanError, match=r"--source-config east=\.\.\.: no --source is called so; there is west"):
        of_aliases({"east": "f"}, ["west"], "--source-config")


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


def test_a_target_has_what_was_set_for_the_source_alone():
    configs = {
        "retention.ms": TopicConfig("5", True),
        "segment.bytes": TopicConfig("100", False),
        "leader.replication.throttled.replicas": TopicConfig("*", True),
        "message.timestamp.type": TopicConfig("LogAppendTime", True),
    }
    assert target_settings(configs) == ({"retention.ms": "5", "message.timestamp.type": "CreateTime"}, True)
    assert target_settings({}) == ({"message.timestamp.type": "CreateTime"}, False)
