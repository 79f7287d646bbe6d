"""The parts from which a loaded log is constructed."""

from dataclasses import dataclass

from barnabas.broker.log.leader_epochs import LeaderEpochs
from barnabas.broker.log.producers.producer_snapshot import ProducerSnapshots
from barnabas.broker.log.producers.producer_state import ProducerState
from barnabas.broker.log.segments.segment import Segment


@dataclass(slots=True)
class LogComponents:
    """See the attributes of `PartitionLog`.

    Attributes:
        snapshots: The files of `producers`.
        is_as_closed: Whether all its files are on disk, unchanged since a clean stop.
        is_name_safe: Whether the name of its directory is on disk, too.
    """

    segments: list[Segment]
    epochs: LeaderEpochs
    producers: ProducerState
    snapshots: ProducerSnapshots
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    is_as_closed: bool = False
    is_name_safe: bool = False
