"""What Kafka 2.7.2 does wrong by itself, and its own log shows: told, and healed as an operator would."""

import re
from collections.abc import Iterator

_STARTING = "INFO starting (kafka.server.KafkaServer)"
_LOADING = re.compile(r"\[Transaction State Manager \d+\]: Loading transaction metadata from (\S+) at epoch (\d+)")
_LOADED = re.compile(
    r"\[Transaction State Manager \d+\]: Completed loading transaction metadata from (\S+) for coordinator epoch (\d+)"
)


def endless_loads(log: str) -> list[str]:
    """Return the loads of `__transaction_state` that a broker waits for though it gave them up, by what it logged.

    It led the partition for less time than the load took, so that was never completed; the one of a later epoch was.
    From then on it answers COORDINATOR_LOAD_IN_PROGRESS until it is started anew (docs/cluster.md).
    """
    lines = log.rpartition(_STARTING)[2].splitlines()
    completed = {match.groups(): line for line, match in _matching(_LOADED, lines)}
    found = []
    for line, match in _matching(_LOADING, lines):
        partition, epoch = match.groups()
        if (partition, epoch) in completed:
            continue
        later = [there for (other, newer), there in completed.items() if other == partition and int(newer) > int(epoch)]
        if later:
            found.append(f"{line}\n{later[-1]}")
    return found


def _matching(pattern: re.Pattern[str], lines: list[str]) -> Iterator[tuple[str, re.Match[str]]]:
    for line in lines:
        if match := pattern.search(line):
            yield line, match
