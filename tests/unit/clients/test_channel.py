"""One connection: answers find who asked, versions are agreed on, and whoever waits gets an end."""

import asyncio
import struct
from dataclasses import replace

import pytest

from barnabas.clients.channel import Channel
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.api_versions import ApiVersionsResponse
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from tests.unit.clients.memory_broker import MemoryBroker, closes

HEARTBEAT = HeartbeatRequest("g", 1, "m")


def beaten(request):
    return HeartbeatResponse(0, 27)


def with_channel(story, **answers):
    """Run a story with a channel to a broker of these answers, by API."""

    async def use(pool):
        channel = await Channel.connect("memory", 9092, "me", env=pool.env)
        try:
            await story(channel)
        finally:
            await channel.close()

    broker = MemoryBroker({ApiKey[name]: answer for name, answer in answers.items()})
    broker.run(use)
    return broker


pytestmark = pytest.mark.played(by=with_channel, HEARTBEAT=lambda request: None)


async def beat(channel, **options):
    return await channel.send(HEARTBEAT, HeartbeatResponse, **options)


@pytest.mark.played(by=with_channel, HEARTBEAT=beaten, LIST_GROUPS=lambda request: ListGroupsResponse(0, 3))
async def test_an_answer_finds_who_asked(channel, /):
    asked = [asyncio.ensure_future(beat(channel)), channel.send(ListGroupsRequest(), ListGroupsResponse)]
    assert await asyncio.gather(*asked) == [HeartbeatResponse(0, 27), ListGroupsResponse(0, 3)]


def test_a_large_answer_is_decoded_elsewhere():
    decoded = []

    async def elsewhere(function):
        decoded.append(function.args[0])
        return function()

    async def use(pool):
        pool.env.elsewhere = elsewhere
        channel = await Channel.connect("memory", 9092, "me", env=pool.env)
        try:
            few = await channel.send(ListGroupsRequest(), ListGroupsResponse)
            many = await channel.send(ListGroupsRequest(), ListGroupsResponse)
        finally:
            await channel.close()
        assert (len(few.groups), len(many.groups), decoded) == (1, 10_000, [channel.version_of(ApiKey.LIST_GROUPS)])

    counts = iter((1, 10_000))
    broker = MemoryBroker(
        {ApiKey.LIST_GROUPS: lambda request: ListGroupsResponse(0, 0, [ListedGroup("g", "")] * next(counts))}
    )
    broker.run(use)


@pytest.mark.parametrize(("least", "most", "version"), [(0, 2, 2), (0, 99, 4), (3, 99, 4)])
@pytest.mark.played(by=with_channel)
async def test_the_highest_version_that_both_know_is_spoken(channel, /, least, most, version):
    channel.versions[ApiKey.HEARTBEAT] = (least, most)
    assert channel.version_of(ApiKey.HEARTBEAT) == version
    assert channel.version_of(ApiKey.HEARTBEAT, max_version=3) == min(version, 3)


@pytest.mark.parametrize("versions", [(5, 9), None])
@pytest.mark.played(by=with_channel)
async def test_an_api_on_which_they_cannot_agree_is_told(channel, /, versions):
    if versions is None:
        del channel.versions[ApiKey.HEARTBEAT]
    else:
        channel.versions[ApiKey.HEARTBEAT] = versions
    with pytest.raises(KafkaError, match="memory:9092 does not support Heartbeat") as caught:
        await beat(channel)
    assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION
    assert channel.is_open


async def test_a_request_that_is_not_answered_in_time_ends_the_connection(channel, /):
    with pytest.raises(KafkaError, match="did not answer Heartbeat within 500 ms") as caught:
        await beat(channel, timeout_ms=500)
    assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert not channel.is_open
    with pytest.raises(KafkaError, match=r"NETWORK_EXCEPTION.* lost: the broker did not answer Heartbeat"):
        await beat(channel)


@pytest.mark.played(by=with_channel, HEARTBEAT=[lambda request: None, beaten])
async def test_the_answer_to_who_waits_no_longer_is_dropped_and_the_next_one_found(channel, /):
    asked = asyncio.ensure_future(beat(channel))
    await asyncio.sleep(1)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    # The first request's answer, to nobody.
    channel._reader.feed_data(struct.pack(">iiih", 10, 1, 0, 99))
    assert await beat(channel) == HeartbeatResponse(0, 27)


@pytest.mark.played(by=with_channel, HEARTBEAT=closes)
async def test_a_broker_that_hangs_up_ends_what_is_waited_for(channel, /):
    with pytest.raises(KafkaError, match="connection to memory:9092 lost: the broker closed it") as caught:
        await beat(channel)
    assert caught.value.code is ErrorCode.NETWORK_EXCEPTION
    assert not channel.is_open
    with pytest.raises(KafkaError, match="lost"):
        await beat(channel)


async def test_closing_ends_what_is_waited_for(channel, /):
    asked = asyncio.ensure_future(beat(channel))
    await asyncio.sleep(1)
    await channel.close()
    with pytest.raises(KafkaError, match="was closed"):
        await asked


@pytest.mark.parametrize("size", [3, -1, 0x7FFFFFFF])
async def test_a_size_that_is_none_of_kafkas_ends_the_connection(channel, /, size):
    asked = asyncio.ensure_future(beat(channel))
    await asyncio.sleep(1)
    channel._reader.feed_data(struct.pack(">i", size))
    with pytest.raises(KafkaError, match=f"the size of an answer, {size} bytes, is invalid"):
        await asked
    assert not channel.is_open


@pytest.mark.played(by=with_channel, HEARTBEAT=[lambda request: None, beaten])
async def test_an_answer_that_cannot_be_read_costs_its_question_alone(channel, /):
    asked = asyncio.ensure_future(beat(channel))
    await asyncio.sleep(1)
    channel._reader.feed_data(struct.pack(">ii", 4, 1))
    with pytest.raises(ProtocolError):
        await asked
    assert await beat(channel) == HeartbeatResponse(0, 27)


@pytest.mark.parametrize("answer", [closes, lambda request: ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION)])
def test_whoever_does_not_greet_as_kafka_does_is_no_broker(answer):
    async def story(channel):
        raise AssertionError("it connected")

    with pytest.raises(KafkaError, match=r"memory:9092 (does not speak|refused)"):
        with_channel(story, API_VERSIONS=answer)


def test_whoever_is_silent_is_asked_whether_it_is_up():
    async def use(pool):
        with pytest.raises(KafkaError, match="no answer from memory:9092 within 2 s: is it a Kafka listener"):
            await Channel.connect("memory", 9092, "me", 2_000, pool.env)

    MemoryBroker({ApiKey.API_VERSIONS: lambda request: None}).run(use)


def test_how_long_a_silent_broker_was_waited_for_is_what_the_error_says():
    """Connecting and the question for versions share one limit."""

    async def use(pool):
        loop = asyncio.get_running_loop()
        dial = pool.env.dial

        async def slowly(host, port):
            await asyncio.sleep(1.5)
            return await dial(host, port)

        begin = loop.time()
        env = replace(pool.env, dial=slowly)
        with pytest.raises(KafkaError, match="no answer from memory:9092 within 2 s"):
            await Channel.connect("memory", 9092, "me", 2_000, env)
        assert loop.time() - begin == pytest.approx(2)

    MemoryBroker({ApiKey.API_VERSIONS: lambda request: None}).run(use)
