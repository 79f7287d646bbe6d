"""Appends to a log until it is killed, and says each log end offset.

Run: `python -m tests.integration.log_writer DIRECTORY`.
"""

import random
import sys
from pathlib import Path

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.clock import SystemClock
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder

OVERRIDES = {"segment.bytes": "200000", "index.interval.bytes": "1000"}


def main(directory: Path) -> None:
    env = LogEnvironment(SystemClock(), ManualClock(), InlineExecutor())
    config = TopicConfig.from_broker(BrokerConfig.from_properties({}, None, "test")).with_overrides(OVERRIDES)
    log = open_log(env, TopicPartition("t", 0), directory, config)
    chance = random.Random(1)
    sequence = 0
    batch_count = 0
    while True:
        count = chance.randrange(1, 20)
        builder = BatchBuilder(chance.choice(list(Codec)), 7, 0, sequence)
        for _ in range(count):
            # Out of order, so that not every batch raises the largest timestamp.
            builder.append(
                1_600_000_000_000 + batch_count * 10 + chance.randrange(-500, 500), b"k", chance.randbytes(99)
            )
        result = log.append(memoryview(builder.build()), leader_epoch=batch_count // 300)
        sequence = (sequence + count) & 0x7FFFFFFF
        if batch_count % 50 == 0:
            own = BatchBuilder()
            own.append(1_600_000_000_000 + batch_count * 20, b"own", b"1")
            data = bytearray(own.build() + own.build())
            result = log.append(memoryview(data), batch_count // 300, is_client=False)
        batch_count += 1
        print(result.last_offset + 1, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
