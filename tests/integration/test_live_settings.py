"""A running broker whose settings are changed: threads, disk and network are the machine's own."""

from pathlib import Path

import pytest

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.producer import Producer
from barnabas.core.errors import KafkaError
from tests.integration.live_broker import Running, play

SETTINGS = {
    # It looks once, a second after the start, and not again by itself.
    "log.cleaner.backoff.ms": "3600000",
    "log.cleaner.min.compaction.lag.ms": "3600000",
    "log.cleaner.min.cleanable.ratio": "0.01",
}


def test_the_largest_message_changes_for_topics_that_inherit_it(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        admin, producer = Admin(running.pool), Producer(running.pool)
        await admin.create_topic(NewTopic("t", 1, 1))
        await admin.create_topic(NewTopic("own", 1, 1, {"max.message.bytes": "100000"}))

        async def send(topic: str) -> None:
            await (await producer.send(topic, b"x" * 5_000, partition=0))

        await send("t")
        await running.change("brokers/<default>", {"message.max.bytes": "1000"})
        await running.until_largest("t", ("1000", 3))
        with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
            await send("t")
        await send("own")
        assert await running.described(2, "own", "max.message.bytes") == ("100000", 1)
        assert await running.described(4, "0", "message.max.bytes") == ("1000", 3)
        await running.change("brokers/0", {"message.max.bytes": "9000"})
        await running.until_largest("t", ("9000", 2))
        await send("t")
        await running.change("topics/own", {"max.message.bytes": "2000"})
        await running.until_largest("own", ("2000", 1))
        with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
            await send("own")
        await producer.close()

        assert (await running.count("t"), await running.count("own")) == (2, 1)

    play(tmp_path, story, SETTINGS)


def test_the_cleaner_goes_by_its_settings_at_once_with_more_threads(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        producer = Producer(running.pool)
        settings = {"cleanup.policy": "compact", "segment.bytes": "1000"}
        await Admin(running.pool).create_topic(NewTopic("c", 1, 1, settings))
        for number in range(20):
            await (await producer.send("c", b"%d" % number * 100, b"key", partition=0))
        await producer.close()
        assert await running.count("c") == 20
        await running.change(
            "brokers/<default>", {"log.cleaner.min.compaction.lag.ms": "0", "log.cleaner.threads": "2"}
        )
        while await running.count("c") >= 10:
            continue

    play(tmp_path, story, SETTINGS)
