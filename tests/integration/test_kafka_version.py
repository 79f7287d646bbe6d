"""A broker whose directories go back to an old Kafka says so, and says what goes against it."""

import asyncio
from pathlib import Path

import pytest

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.core.clock import SystemClock
from barnabas.core.errors import StartupError
from barnabas.migration import apply
from barnabas.testing import Broker


@pytest.fixture
def adopted(tmp_path: Path) -> Path:
    LogDirectory(LocalFileSystem(), tmp_path).write_identity(0, None, 0)
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").touch()
    work = apply.adopt([tmp_path], None, SystemClock(), allows_missing=False, kafka_version="0.10.2")
    assert not asyncio.run(work).is_blocked
    return tmp_path


def test_it_says_what_it_writes_for_at_each_start(adopted: Path) -> None:
    with Broker(data_dir=adopted) as broker:
        for _ in range(2):
            assert (
                "Kafka 0.10.2 can read (--kafka-version): "
                "inter.broker.protocol.version=0.10.2-IV0, log.message.format.version=0.10.2-IV0"
            ) in broker.log_text()
            assert "barnabas release" not in broker.log_text()
            broker.restart()


def test_a_setting_that_goes_against_it_wins_and_is_told(adopted: Path) -> None:
    with Broker(data_dir=adopted, config={"log.message.format.version": "0.11.0"}) as broker:
        assert (
            "inter.broker.protocol.version=0.11.0-IV2, log.message.format.version=0.11.0: writes formats that Kafka "
            "0.10.2 cannot read"
        ) in broker.log_text()


def test_settings_that_cannot_be_together_with_it_stop_the_start(adopted: Path) -> None:
    broker = Broker(data_dir=adopted, config={"offsets.topic.compression.codec": 4})
    with pytest.raises(StartupError, match=r"offsets\.topic\.compression\.codec=4: needs an inter\.broker\.protocol"):
        broker.start()
    broker.close()
