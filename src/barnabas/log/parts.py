"""What a log is made of when it was loaded, before anything happens to it."""

from dataclasses import dataclass

from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.log.producers.producer_snapshot import ProducerSnapshots
from barnabas.log.producers.producer_state import ProducerState
from barnabas.log.segments.segment import Segment


@dataclass(slots=True)
class LogParts:
    """See the attributes of `PartitionLog`; `snapshots` are the files of `producers`."""

    segments: list[Segment]
    epochs: LeaderEpochs
    producers: ProducerState
    snapshots: ProducerSnapshots
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
