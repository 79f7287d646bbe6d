"""All problems of a cluster: the findings of every question, without those of severity FINE."""

from collections.abc import Iterator

from barnabas.explain.finding import Certainty, Finding, worst_first
from barnabas.explain.formatting import count
from barnabas.explain.rules.broker import near_limits, silent_brokers, stalls
from barnabas.explain.rules.client import throttled_clients
from barnabas.explain.rules.disk import full_disks
from barnabas.explain.rules.group import explain_group
from barnabas.explain.rules.lag import explain_lag
from barnabas.explain.rules.refused import lately_refused
from barnabas.explain.rules.slow import explain_slow
from barnabas.explain.rules.topic import explain_topic
from barnabas.explain.rules.transaction import explain_transaction
from barnabas.explain.snapshot import Snapshot


def explain_all(snapshot: Snapshot) -> list[Finding]:
    """Return all problems, the most severe first; without problems, one finding that states this.

    Its text differs for users who may not see all data.
    """
    found = worst_first(each for each in _all(snapshot) if each.severity)
    if found:
        return found
    brokers = 0 if snapshot.cluster is None else len(snapshot.cluster.brokers)
    well = "no problems in the part that you may see" if snapshot.refused else "no problems"
    text = f"{well}: {count(brokers, 'broker')}, {count(len(snapshot.partitions), 'partition')}, "
    text += count(len(snapshot.groups), "group")
    certainty = Certainty.UNKNOWN if snapshot.refused else Certainty.MEASURED
    return [Finding("cluster", "well", text, certainty=certainty)]


def _all(snapshot: Snapshot) -> Iterator[Finding]:
    yield from silent_brokers(snapshot)
    yield from explain_topic(snapshot)
    yield from full_disks(snapshot)
    yield from explain_lag(snapshot)
    yield from explain_group(snapshot)
    yield from explain_transaction(snapshot)
    yield from throttled_clients(snapshot)
    yield from lately_refused(snapshot)
    yield from stalls(snapshot)
    yield from near_limits(snapshot)
    yield from explain_slow(snapshot)
