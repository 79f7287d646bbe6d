"""A channel on real sockets, against a peer that behaves badly; tests/unit/clients/test_channel.py has every way."""

import asyncio
import re
import struct
from collections.abc import Awaitable, Callable

import pytest

from barnabas.clients.channel import Channel, UnreachableError
from barnabas.clients.pool import Pool
from barnabas.clients.security import client_security
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataResponse

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_request(reader):
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    frame = await reader.readexactly(size)
    return struct.unpack_from(">hhi", frame)


def api_versions_answer(correlation_id, ranges):
    body = struct.pack(">ihi", correlation_id, 0, len(ranges))
    body += b"".join(struct.pack(">hhh", key, *versions) for key, versions in ranges.items())
    return struct.pack(">i", len(body)) + body


async def with_peer(peer, use):
    async def serve(reader, writer):
        try:
            await peer(reader, writer)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        return await use(server.sockets[0].getsockname()[1])


def run(peer, use):
    return asyncio.run(with_peer(peer, use))


async def connect_and_ask(port):
    channel = await Channel.connect("127.0.0.1", port, "test", timeout_ms=2_000)
    try:
        return await channel.send(MetadataRequest([]), MetadataResponse, timeout_ms=200)
    finally:
        await channel.close()


async def greet(reader, writer, ranges):
    _, _, correlation_id = await read_request(reader)
    writer.write(api_versions_answer(correlation_id, ranges))


def failure(peer, use=connect_and_ask):
    with pytest.raises((KafkaError, ProtocolError)) as caught:
        run(peer, use)
    return caught.value


def test_nobody_there():
    async def use():
        async with Pool("127.0.0.1:1") as pool:
            await pool.any_broker()

    with pytest.raises(UnreachableError, match=r"cannot connect to 127\.0\.0\.1:1: connection refused"):
        asyncio.run(use())


def test_a_peer_that_speaks_something_else():
    async def peer(reader, writer):
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    error = failure(peer)
    assert isinstance(error, KafkaError)
    assert error.code is ErrorCode.NETWORK_EXCEPTION
    assert "does not speak Kafka's protocol" in error.message


def test_a_peer_without_tls():
    async def peer(reader, writer):
        await reader.read(100)

    async def use(port):
        security = client_security({"security.protocol": "SSL"})
        await Channel.connect("127.0.0.1", port, "test", security=security)

    message = failure(peer, use).message
    assert re.fullmatch(
        r"127\.0\.0\.1:\d+ closed the connection during the TLS handshake: is security\.protocol right\?", message
    )


def test_a_peer_that_says_nothing():
    async def peer(reader, writer):
        await reader.read()

    async def use(port):
        async with Pool(f"127.0.0.1:{port}", connect_timeout_ms=100) as pool:
            await pool.any_broker()

    error = failure(peer, use)
    assert isinstance(error, UnreachableError)
    assert re.fullmatch(
        r"no answer from 127\.0\.0\.1:\d+ within 0\.1 s: is it a Kafka listener, and is it up\?", error.message
    )


def test_a_connection_that_is_lost_while_waiting():
    async def peer(reader, writer):
        await greet(reader, writer, {3: (0, 9)})
        await read_request(reader)

    error = failure(peer)
    assert error.code is ErrorCode.NETWORK_EXCEPTION
    assert "the broker closed it" in error.message


def test_a_request_without_an_answer_ends_its_connection_and_what_waits_behind_it():
    async def peer(reader, writer):
        await greet(reader, writer, {3: (1, 1)})
        await reader.read()

    async def use(port):
        channel = await Channel.connect("127.0.0.1", port, "test")
        behind = asyncio.create_task(channel.send(MetadataRequest([]), MetadataResponse))
        with pytest.raises(KafkaError, match="REQUEST_TIMED_OUT"):
            await channel.send(MetadataRequest([]), MetadataResponse, timeout_ms=50)
        assert not channel.is_open
        with pytest.raises(KafkaError, match=r"NETWORK_EXCEPTION.*did not answer Metadata"):
            await behind
        await channel.close()

    run(peer, use)
