"""A running broker whose settings are changed: threads, disk and network are the machine's own."""

import asyncio
import contextlib
import logging
import ssl
import struct
from pathlib import Path

import pytest

from barnabas.broker.security.passwords import decode_passwords
from barnabas.broker.server import listener_tls
from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.producer import Producer
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.testing.certificates import Authority
from barnabas.wire.protocol.messages.metadata import MetadataRequest
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.registry.znodes.configs import decode_config
from barnabas.wire.security.tls.contexts import server_context
from barnabas.wire.security.tls.settings import TlsSettings
from tests.compat.raw import ask
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


TOPIC, BROKER = 2, 4
TWO_LISTENERS = {
    "listeners": "A://127.0.0.1:0,B://127.0.0.1:0",
    "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
    "inter.broker.listener.name": "A",
}
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


class Peer:
    """A connection that asks what is served."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.answer = asyncio.create_task(reader.read(4))
        writer.write(API_VERSIONS)

    @classmethod
    async def connected(cls, server: str) -> "Peer":
        host, _, port = server.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def is_answered(self) -> bool:
        """Whether an answer came, and not the end of the connection."""
        try:
            return len(await self.answer) == 4
        except ConnectionError:
            return False

    async def until_closed(self) -> None:
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65_536):
                continue
        await self.close()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


def test_connections_wait_for_room_that_goes_by_the_limits_as_they_are(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        server = (await running.endpoints())["B"]
        await running.alter(BROKER, "0", {"listener.name.b.max.connections": "1"})
        first = await Peer.connected(server)
        assert await first.is_answered()
        second, third = await Peer.connected(server), await Peer.connected(server)
        # Whoever asks at the other listener is answered meanwhile, and that after they came.
        await running.described(BROKER, "0", "max.connections")
        assert not second.answer.done()
        await first.close()
        assert await second.is_answered()
        assert not third.answer.done()
        await running.alter(BROKER, "0", {"listener.name.b.max.connections": None})
        assert await third.is_answered()
        # A cluster-wide limit: the listener on which brokers meet goes on, the others lose whom they can do without.
        await running.alter(BROKER, "", {"max.connections": "1"})
        await second.until_closed()
        await third.until_closed()
        assert await running.described(BROKER, "0", "max.connections") == ("1", 3)

    play(tmp_path, story, TWO_LISTENERS)


def test_connections_of_one_address_are_limited_by_number_or_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(running: Running) -> None:
        server = (await running.endpoints())["B"]
        await running.alter(
            BROKER, "0", {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:100"}
        )
        first = await Peer.connected(server)
        assert await first.is_answered()
        # The addresses of a name are looked up beside the loop, so they count a little later.
        await running.alter(
            BROKER, "0", {"max.connections.per.ip": "1", "max.connections.per.ip.overrides": "localhost:100"}
        )
        second = await Peer.connected(server)
        while not await second.is_answered():
            await second.close()
            second = await Peer.connected(server)
        # A name that nobody knows changes nothing.
        await running.alter(BROKER, "0", {"max.connections.per.ip.overrides": "no.such.host.invalid:100"})
        while "not changed: unknown hosts: no.such.host.invalid" not in caplog.text:
            await running.described(BROKER, "0", "max.connections")
        await running.alter(
            BROKER, "0", {"max.connections.per.ip": "1", "max.connections.per.ip.overrides": "10.0.0.1:100"}
        )
        third = await Peer.connected(server)
        assert not await third.is_answered()
        for peer in (first, second, third):
            await peer.close()

    play(tmp_path, story, TWO_LISTENERS)


def test_listeners_come_and_go_while_the_broker_runs(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        plain = (await running.endpoints())["PLAINTEXT"]
        await running.alter(BROKER, "0", {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,X:PLAINTEXT"})
        await running.alter(BROKER, "0", {"listeners": f"PLAINTEXT://{plain},X://127.0.0.1:0"})
        first = await until_told(running, {"PLAINTEXT", "X"})
        assert first["PLAINTEXT"] == plain
        peer = await Peer.connected(first["X"])
        assert await peer.is_answered()
        # Clients that come through it are told of it.
        assert await brokers_by_way_of(first["X"]) == {first["X"]}
        assert await brokers_by_way_of(plain) == {plain}

        _, _, port = first["X"].rpartition(":")
        await running.alter(BROKER, "0", {"advertised.listeners": f"PLAINTEXT://{plain},X://localhost:{port}"})
        while (await running.endpoints())["X"] != f"localhost:{port}":
            continue
        assert not peer.reader.at_eof()

        await running.alter(BROKER, "0", {"listeners": None, "advertised.listeners": None})
        assert await until_told(running, {"PLAINTEXT"}) == {"PLAINTEXT": plain}
        await peer.until_closed()
        with pytest.raises(ConnectionError):
            await Peer.connected(first["X"])
        assert await brokers_by_way_of(plain) == {plain}

    play(tmp_path, story, {})


def test_a_listener_that_can_not_be_opened_is_told_to_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(running: Running) -> None:
        plain = (await running.endpoints())["PLAINTEXT"]
        taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = taken.sockets[0].getsockname()[1]
        await running.alter(BROKER, "0", {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,X:PLAINTEXT"})
        await running.alter(BROKER, "0", {"listeners": f"PLAINTEXT://{plain},X://127.0.0.1:{port}"})
        while "cannot open listener X" not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert await running.endpoints() == {"PLAINTEXT": plain}
        assert await brokers_by_way_of(plain) == {plain}
        taken.close()
        await taken.wait_closed()

    play(tmp_path, story, {})


def test_what_was_set_of_listeners_counts_after_a_restart(tmp_path: Path) -> None:
    async def change(running: Running) -> None:
        await running.alter(BROKER, "0", {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,X:PLAINTEXT"})
        await running.alter(BROKER, "0", {"listeners": "PLAINTEXT://127.0.0.1:0,X://127.0.0.1:0"})

    async def look(running: Running) -> None:
        told = await running.endpoints()
        assert told.keys() == {"PLAINTEXT", "X"}
        assert await brokers_by_way_of(told["X"]) == {told["X"]}

    play(tmp_path, change, {})
    play(tmp_path, look, {})


def test_a_listener_with_tls_that_was_added_serves_after_a_restart(tmp_path: Path) -> None:
    authority, keys = Authority(), tmp_path / "keys.pem"
    keys.write_bytes(authority.issue("broker").pem())
    trusting = ssl.create_default_context(cadata=authority.certificate_pem.decode())

    async def change(running: Running) -> None:
        settings = {"keystore.type": "PEM", "keystore.location": str(keys)}
        await running.alter(
            BROKER,
            "0",
            {
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,X:SSL",
                **{f"listener.name.x.ssl.{name}": value for name, value in settings.items()},
            },
        )
        await running.alter(BROKER, "0", {"listeners": "PLAINTEXT://127.0.0.1:0,X://127.0.0.1:0"})
        await look(running)

    async def look(running: Running) -> None:
        host, _, port = (await until_told(running, {"PLAINTEXT", "X"}))["X"].rpartition(":")
        peer = Peer(*await asyncio.open_connection(host, int(port), ssl=trusting))
        assert await peer.is_answered()
        await peer.close()

    play(tmp_path, change, {})
    play(tmp_path, look, {})


def test_keys_that_fail_to_be_read_leave_another_listener_its_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    authority, keys = Authority(), {name: tmp_path / f"{name}.pem" for name in "ab"}
    trusting = ssl.create_default_context(cadata=authority.certificate_pem.decode())

    def replace(common_name: str) -> None:
        for path in keys.values():
            fresh = path.with_suffix(".new")
            fresh.write_bytes(authority.issue(common_name).pem())
            fresh.replace(path)

    def fails_for_a(settings: TlsSettings) -> ssl.SSLContext:
        if settings.keystore_location == str(keys["a"]):
            raise TypeError("no store is like this")
        return server_context(settings)

    async def story(running: Running) -> None:
        async def common_name(listener: str) -> object:
            host, port = running.node.address_of(listener)
            _, writer = await asyncio.open_connection(host, port, ssl=trusting)
            certificate = writer.get_extra_info("peercert")
            writer.close()
            return certificate["subject"][0][0][1]

        monkeypatch.setattr(listener_tls, "server_context", fails_for_a)
        replace("new")
        while await common_name("B") != "new":
            continue
        assert await common_name("A") == "old"

    replace("old")
    settings = {
        f"listener.name.{name}.ssl.keystore.{key}": value
        for name, path in keys.items()
        for key, value in (("type", "PEM"), ("location", str(path)))
    }
    settings["listeners"] = "PLAINTEXT://127.0.0.1:0,A://127.0.0.1:0,B://127.0.0.1:0"
    settings["listener.security.protocol.map"] = "PLAINTEXT:PLAINTEXT,A:SSL,B:SSL"
    play(tmp_path, story, settings)
    assert "listener A keeps its old keys: TypeError" in caplog.text


def test_a_password_is_stored_encrypted_and_shown_to_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    secret = {"password.encoder.secret": "abc"}
    name = "listener.name.plaintext.ssl.keystore.password"

    async def stored(running: Running) -> dict[str, str]:
        data, _ = await running.registry.get("/config/brokers/0")
        return decode_config(data)

    async def set_it(running: Running) -> None:
        await running.alter(BROKER, "0", {name: "hush-hush"})
        first = await stored(running)
        assert first[name].startswith("encryptedPassword:")
        # Another change writes it anew.
        await running.alter(BROKER, "0", {"message.max.bytes": "2000000"})
        second = await stored(running)
        assert second.keys() == {name, "message.max.bytes"}
        assert second[name] != first[name]
        assert decode_passwords(running.node.config, second)[0][name] == "hush-hush"
        assert await running.described(BROKER, "0", name) == (None, 2)

    async def look(running: Running) -> None:
        assert await running.described(BROKER, "0", name) == (None, 2)
        assert running.node.config.broker_overrides[name] == "hush-hush"

    caplog.set_level(logging.DEBUG)
    play(tmp_path, set_it, secret)
    play(tmp_path, look, secret)
    assert f"settings changed: {name}=[hidden]" in caplog.text
    assert "hush-hush" not in caplog.text


def test_what_topics_inherit_is_so_for_the_next_record(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        await running.create_topic("t", {})

        async def produced() -> tuple[int, int]:
            """The error, and the time at which it was appended: -1 where that does not count."""
            builder = BatchBuilder()
            builder.append(5, None, b"value")
            records = PartitionProduceData(0, memoryview(bytearray(builder.build())))
            request = ProduceRequest(None, -1, 10_000, [TopicProduceData("t", [records])])
            answer = await asyncio.to_thread(ask, running.servers, request, 8)
            (partition,) = answer.responses[0].partition_responses
            return partition.error_code, partition.log_append_time_ms

        assert await produced() == (ErrorCode.NONE, -1)
        await running.alter(BROKER, "", {"log.message.timestamp.type": "LogAppendTime"})
        error_code, append_time_ms = await produced()
        assert (error_code, append_time_ms > 0) == (ErrorCode.NONE, True)
        await running.alter(BROKER, "0", {"log.message.timestamp.type": "CreateTime", "min.insync.replicas": "2"})
        assert await produced() == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
        await running.alter(TOPIC, "t", {"min.insync.replicas": "1"})
        assert await produced() == (ErrorCode.NONE, -1)
        await running.alter(TOPIC, "t", {"message.timestamp.difference.max.ms": "1000"})
        assert await produced() == (ErrorCode.INVALID_TIMESTAMP, -1)
        await running.alter(TOPIC, "t", {"message.timestamp.difference.max.ms": None})
        assert await produced() == (ErrorCode.NONE, -1)

    play(tmp_path, story, {})


async def until_told(running: Running, names: set[str]) -> dict[str, str]:
    """Wait until the broker has registered these listeners."""
    while (found := await running.endpoints()).keys() != names:
        continue
    return found


async def brokers_by_way_of(server: str) -> set[str]:
    """The addresses that the metadata names, for whom asks there; the controller knows them a little later."""
    while True:
        answer = await asyncio.to_thread(ask, server, MetadataRequest([]), 9)
        if answer.brokers:
            return {f"{broker.host}:{broker.port}" for broker in answer.brokers}
