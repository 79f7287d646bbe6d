"""Requests that can't be answered as they ought to be are answered all the same."""

import asyncio

from barnabas.clients.channel import Channel
from barnabas.core.error_code import ErrorCode
from barnabas.testing import Broker
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse


def test_a_topic_name_that_no_error_message_has_room_for_is_refused():
    """The message repeats the name: with all of it the answer could not be encoded, and the client waited for ever."""

    async def create(address: str, name: str) -> CreateTopicsResponse:
        host, port = address.split(":")
        channel = await Channel.connect(host, int(port), "test")
        try:
            request = CreateTopicsRequest([CreatableTopic(name, 1, 1)], 10_000)
            return await channel.send(request, CreateTopicsResponse, max_version=4)
        finally:
            await channel.close()

    with Broker() as broker:
        for length in (32_760, 32_767):
            answer = asyncio.run(create(broker.bootstrap_servers, "x" * length))
            assert [(len(each.name), each.error_code) for each in answer.topics] == [
                (length, ErrorCode.INVALID_TOPIC_EXCEPTION)
            ]
        answer = asyncio.run(create(broker.bootstrap_servers, "x" * 249))
        assert [each.error_code for each in answer.topics] == [ErrorCode.NONE]
