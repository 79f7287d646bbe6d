"""`barnabas groups migrate` sees what consumers of Kafka 0.8.2 and ours do, in one group, there and back.

It allows each step when all were restarted and not before, names who is left, and where it allows a step nothing goes
wrong.
"""

import json
import tempfile
from pathlib import Path

import pytest

from tests.compat.commands import Ran, run_here
from tests.compat.old_consumers.group import PlayedGroup
from tests.compat.old_consumers.migration import DUAL, KAFKA, ZOOKEEPER
from tests.compat.old_consumers.site import REGISTRIES, Site

GROUP = "g"
COMMITS = {id(ZOOKEEPER): "zookeeper", id(DUAL): "both", id(KAFKA): "kafka"}
# Where to, which step is to be allowed, to which settings, and what is to be next then.
STEPS = (
    ("kafka", "dual-commit", DUAL, "kafka-alone"),
    ("kafka", "kafka-alone", KAFKA, "done"),
    ("zookeeper", "dual-commit", DUAL, "zookeeper-alone"),
    ("zookeeper", "zookeeper-alone", ZOOKEEPER, "done"),
)


def run(site: Site, *arguments: str) -> Ran:
    return run_here("groups", "migrate", "--group", GROUP, "--zookeeper", site.connect, "--json", *arguments)


def follow(registry: str, kinds: list[str]) -> None:
    """Restart the members of a group, the last of each step after a kill, and ask after each."""
    with tempfile.TemporaryDirectory(prefix="barnabas-verified-") as name, Site(registry, Path(name)) as site:
        site.create_topic("a", 4)
        with PlayedGroup(site, GROUP, {"a": 4}, Path(name), seed=1) as group:
            for kind in kinds:
                group.start(kind, settings=ZOOKEEPER)
            group.settle()
            before = ZOOKEEPER
            for to, step, settings, then in STEPS:
                allowed = run(site, "--to", to, "--verify", "--step", step)
                assert allowed.returncode == 0, allowed.stdout + allowed.stderr
                old = list(group.members)
                for index, member in enumerate(old):
                    is_last = index == len(old) - 1
                    group.members.remove(member)
                    if is_last:
                        group.crash(member)
                    else:
                        member.shutdown()
                    group.join(member.kind, settings=settings)
                    if is_last:
                        break
                    half_way = run(site, "--to", to, "--verify")
                    assert half_way.returncode == 1, half_way.stdout
                    found = json.loads(half_way.stdout)
                    assert found["next_step"] == "restart-the-others"
                    left = {each.id for each in old[index + 1 :]}
                    commits = {each["consumer"]: each["commits"] for each in found["consumers"]}
                    assert {each for each, where in commits.items() if where == COMMITS[id(before)]} == left
                    assert {commits[each.id] for each in group.members if each.id not in left} == {
                        COMMITS[id(settings)]
                    }
                reached = run(site, "--to", to, "--verify", "--step", then)
                assert reached.returncode == 0, reached.stdout + reached.stderr
                before = settings
            assert group.finish() == []


def test_a_consumer_of_kafka_and_ours_move_as_the_command_allows() -> None:
    follow("embedded", ["java", "python"])


@pytest.mark.whole
@pytest.mark.parametrize("registry", REGISTRIES)
def test_four_consumers_move_as_the_command_allows(registry: str) -> None:
    follow(registry, ["java", "python"] * 2)
