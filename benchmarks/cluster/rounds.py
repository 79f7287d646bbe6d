"""Rounds of a load: until a JVM is warm, and in turn on clusters that run at the same time."""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from benchmarks.cluster.clusters import Cluster
from benchmarks.load import report
from benchmarks.load.lines import Figures, is_settled

_MOST_ROUNDS, _WARM_S = 6, 30.0
_ROUNDS_IN_TURN = 5


class Load(NamedTuple):
    """A load that can be repeated.

    Attributes:
        once: Runs the load and returns its figures.
        settles: The figure that shows whether a JVM is warm.
    """

    once: Callable[[], Figures]
    settles: str


def until_warm(cluster: Cluster, load: Load) -> Figures:
    """Run a load; on a JVM, until two consecutive rounds cost the same within 5 %, or half a minute has passed."""
    rounds, end = [load.once(), load.once()], time.monotonic() + _WARM_S
    while (
        cluster.is_jvm
        and len(rounds) < _MOST_ROUNDS
        and time.monotonic() < end
        and not is_settled([each[load.settles] for each in rounds])
    ):
        rounds.append(load.once())
    return rounds[-1]


def in_turn(clusters: Mapping[str, Cluster], prepare: Callable[[Cluster], Load]) -> dict[str, Figures]:
    """Warm up all clusters, then run a load on them in turn, a few short rounds each; return the medians.

    So other work on the machine affects all clusters equally. Clusters are idle between their rounds.
    """
    loads = {kind: prepare(cluster) for kind, cluster in clusters.items()}
    for kind, load in loads.items():
        until_warm(clusters[kind], load)
    rounds: dict[str, list[Figures]] = {kind: [] for kind in loads}
    for number in range(_ROUNDS_IN_TURN):
        for kind, load in list(loads.items())[:: 1 if number % 2 else -1]:
            rounds[kind].append(load.once())
    return {kind: report.medians(figures) for kind, figures in rounds.items()}
