"""What is said of a log's open transactions from outside is what a broker knows that opens it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.producers.open_transactions import open_transactions
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.inspection.log_listing import list_log
from barnabas.inspection.open_transactions import find_open_transactions
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.control import MarkerType
from tests.unit.inspection.conftest import batch, marker


def data(sequence: int, producer_id: int) -> bytes:
    """One transactional record."""
    return batch(0, 1, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True)


_STEP = st.tuples(st.sampled_from(["data", "commit", "abort", "plain", "roll"]), st.integers(8, 10))


@settings(deadline=None)
@given(st.lists(_STEP, max_size=25), st.booleans())
def test_a_broker_that_opens_the_log_knows_the_same(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], is_clean: bool
) -> None:
    """Snapshots are those that our own log takes at its rolls and at its end."""
    path = tmp_path_factory.mktemp("logs") / "t-0"
    clock = ManualClock()
    env = LogEnvironment(
        clock, clock, InlineExecutor(), LocalFileSystem(), lambda _: 0, lambda error: None, 604_800_000, False
    )
    config = TopicConfig.from_broker(BrokerConfig.single_broker())
    log = open_log(env, TopicPartition("t", 0), path, config)
    for number, (what, producer_id) in enumerate(steps):
        match what:
            case "roll":
                if log.active_segment.size:
                    log.roll()
            case "plain":
                log.append(memoryview(bytearray(batch(0, 1))), 0)
            case "data":
                log.append(memoryview(bytearray(data(number, producer_id))), 0, is_client=False)
            case _:
                log.append(
                    memoryview(
                        bytearray(marker(0, producer_id, MarkerType.COMMIT if what == "commit" else MarkerType.ABORT))
                    ),
                    0,
                    is_client=False,
                )
    if is_clean:
        log.close()
    found = find_open_transactions(list_log(path), was_clean=is_clean)
    assert found == open_transactions(open_log(env, TopicPartition("t", 0), path, config, was_clean=is_clean))
    log.release()
