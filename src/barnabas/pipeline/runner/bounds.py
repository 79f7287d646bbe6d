"""Offsets that a `Bound` means, in partitions as they are now."""

from barnabas.clients.positions import Extents
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.plan import Bound
from barnabas.pipeline.tables.table import Offsets


def start_offsets(cluster: Cluster, start: Bound, extents: Extents) -> Offsets:
    """Return where partitions begin that have been read nothing of yet.

    Raises:
        ClusterUnavailableError: the cluster did not answer.
    """
    if start.time_ms is not None:
        return cluster.offsets_at(extents, start.time_ms)
    given = start.offsets or {}
    return {
        topic: {
            number: given.get(topic, {}).get(number, extent.end_offset if start.is_latest else extent.start_offset)
            for number, extent in partitions.items()
        }
        for topic, partitions in extents.items()
    }
