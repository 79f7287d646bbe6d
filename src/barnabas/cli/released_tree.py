"""Output of `barnabas release`: the contents of the ZooKeeper tree after it was written."""

from collections.abc import Sequence

from barnabas.cli.output import note, print_table, say
from barnabas.migration.findings import ranges
from barnabas.migration.read_back import Leader, TopicSummary, TreeSummary

_MOST_MISSING = 20


def print_tree(tree: TreeSummary, source: str) -> None:
    """Print a table of the topics, and a line for the rest."""
    say(f"{source} now contains, for cluster {tree.cluster_id}:")
    if tree.topics:
        print_table(
            ["topic", "partitions", "leader", "leader epoch", "settings"],
            [
                [
                    topic.name,
                    len(topic.partitions),
                    _leaders(topic),
                    _epochs(topic),
                    " ".join(f"{name}={value}" for name, value in sorted(topic.settings.items())) or None,
                ]
                for topic in tree.topics
            ],
        )
    say(
        f"Topics: {len(tree.topics)}. With settings: users {tree.user_count}, clients {tree.client_count}, brokers "
        f"{tree.broker_count}. Quotas: {tree.quota_count}. Access rules: {tree.access_rule_count}."
    )


def print_missing(missing: Sequence[str], source: str) -> None:
    """Print the nodes that are missing or differ."""
    for line in missing[:_MOST_MISSING]:
        say(f"wrong: {line}")
    if len(missing) > _MOST_MISSING:
        say(f"wrong: {len(missing) - _MOST_MISSING} more nodes")
    note(
        f"Not released: {source} differs from what was written. Do not start Kafka on the directory. Make sure that no "
        "other client writes the tree, and run this command again."
    )


def tree_as_dict(tree: TreeSummary) -> dict[str, object]:
    """Return the contents of the tree as JSON."""
    return {
        "cluster_id": tree.cluster_id,
        "topics": [
            {
                "topic": topic.name,
                "partitions": [
                    {
                        "partition": partition,
                        "leader": None if leader is None else leader.broker_id,
                        "leader_epoch": None if leader is None else leader.leader_epoch,
                    }
                    for partition, leader in topic.partitions.items()
                ],
                "settings": topic.settings,
            }
            for topic in tree.topics
        ],
        "user_count": tree.user_count,
        "client_count": tree.client_count,
        "broker_count": tree.broker_count,
        "quota_count": tree.quota_count,
        "access_rule_count": tree.access_rule_count,
    }


def _known(topic: TopicSummary) -> list[Leader]:
    return [leader for leader in topic.partitions.values() if leader is not None]


def _leaders(topic: TopicSummary) -> str | None:
    return ", ".join("none" if it < 0 else str(it) for it in sorted({it.broker_id for it in _known(topic)})) or None


def _epochs(topic: TopicSummary) -> str | None:
    return ranges({leader.leader_epoch for leader in _known(topic)}) or None
