"""The Java client, 2.7.2 or 4.x: `java/ClientDriver.java` in a process of its own, spoken to over a pipe."""

import base64
import itertools
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tests.compat.clients.model import FETCH_WAIT_MS, HEARTBEAT_INTERVAL_MS, SESSION_TIMEOUT_MS, Message, Record
from tools.kafka.java import compiled, start_java

_DRIVER = Path(__file__).parents[1] / "java" / "ClientDriver.java"
_COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
_handles = itertools.count()


class JavaClientError(Exception):
    """The driver answered an error."""


def _encode(data: bytes | None) -> str:
    return "-" if data is None else "." + base64.b64encode(data).decode()


def _decode(token: str) -> bytes | None:
    return None if token == "-" else base64.b64decode(token[1:])


def _record(token: str) -> Record:
    partition, offset, timestamp_ms, key, value, headers = token.split(",")
    pairs = [header.split(":") for header in headers.split(";") if header]
    decoded = tuple(((_decode(name) or b"").decode(), _decode(data)) for name, data in pairs)
    return Record(int(partition), int(offset), int(timestamp_ms), _decode(key), _decode(value), decoded)


class JavaClient:
    def __init__(self, bootstrap_servers: str, jar_set: str, log_level: str = "WARN") -> None:
        self._bootstrap = f"bootstrap.servers={bootstrap_servers}"
        self._process = start_java(
            "ClientDriver",
            jar_set=jar_set,
            extra_classpath=compiled(_DRIVER, jar_set),
            log_level=log_level,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
        )
        self._admin: str | None = None

    def call(self, *tokens: object) -> list[str]:
        """Run one command of the driver and return the tokens of its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(("\t".join(map(str, tokens)) + "\n").encode())
        self._process.stdin.flush()
        status, *answer = self._process.stdout.readline().decode().rstrip("\n").split("\t")
        if status != "ok":
            raise JavaClientError(" ".join(answer) or "the driver ended")
        return answer

    def handle(self, kind: str, **settings: object) -> str:
        handle = f"{kind}-{next(_handles)}"
        properties = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
        self.call(kind, handle, self._bootstrap, *properties)
        return handle

    def producer(self, *, acks: str = "all", codec: str = "none", is_idempotent: bool = False) -> "JavaProducer":
        settings = {"acks": acks, "compression_type": codec, "enable_idempotence": str(is_idempotent).lower()}
        return JavaProducer(self, self.handle("producer", linger_ms=5, **settings))

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        acks: str = "all",
        codec: str = "none",
        is_idempotent: bool = False,
    ) -> list[tuple[int, int]]:
        with closing(self.producer(acks=acks, codec=codec, is_idempotent=is_idempotent)) as producer:
            return producer.write(topic, messages)

    def consumer(
        self, topic: str, group: str, *, instance: str | None = None, is_cooperative: bool = False, rack: str = ""
    ) -> "JavaConsumer":
        handle = self.handle(
            "consumer",
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit="false",
            session_timeout_ms=SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            **({} if instance is None else {"group_instance_id": instance}),
            **({"partition_assignment_strategy": _COOPERATIVE} if is_cooperative else {}),
            **({"client_rack": rack} if rack else {}),
        )
        self.call("subscribe", handle, topic)
        return JavaConsumer(self, handle, topic)

    @property
    def admin(self) -> str:
        if self._admin is None:
            self._admin = self.handle("admin")
        return self._admin

    def create_topic(self, topic: str, partition_count: int, config: dict[str, str]) -> None:
        self.call("create-topic", self.admin, topic, partition_count, *(f"{k}={v}" for k, v in config.items()))

    def topics(self) -> set[str]:
        return set(self.call("list-topics", self.admin))

    def topic_config(self, topic: str, name: str) -> str:
        return self.call("topic-config", self.admin, topic, name)[0]

    def alter_topic_config(self, topic: str, operation: str, name: str, value: str) -> None:
        """Change one setting; `operation` is SET, APPEND, ..."""
        self.call("alter-topic-config", self.admin, topic, operation, name, value)

    def delete_topic(self, topic: str) -> None:
        self.call("delete-topic", self.admin, topic)

    def group_state(self, group: str) -> tuple[str, int]:
        state, member_count = self.call("group-state", self.admin, group)
        return state.lower(), int(member_count)

    def group_offset(self, group: str, topic: str, partition: int) -> int:
        return int(self.call("group-offset", self.admin, group, topic, partition)[0])

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class JavaProducer:
    def __init__(self, client: JavaClient, handle: str) -> None:
        self._client, self._handle = client, handle

    def write(self, topic: str, messages: Sequence[Message]) -> list[tuple[int, int]]:
        """Return partition and offset of each message, once all are acknowledged."""
        for message in messages:
            headers = ";".join(f"{_encode(name.encode())}:{_encode(data)}" for name, data in message.headers)
            partition = "-" if message.partition is None else message.partition
            timestamp = "-" if message.timestamp_ms is None else message.timestamp_ms
            key, value = _encode(message.key), _encode(message.value)
            self._client.call("send", self._handle, topic, partition, timestamp, key, value, headers)
        places = [place.split(",") for place in self._client.call("flush", self._handle)]
        return [(int(partition), int(offset)) for partition, offset in places]

    def close(self) -> None:
        self._client.call("close-producer", self._handle)


class JavaConsumer:
    def __init__(self, client: JavaClient, handle: str, topic: str) -> None:
        self._client, self._handle, self._topic = client, handle, topic

    def poll(self, timeout_ms: int) -> list[Record]:
        return [_record(token) for token in self._client.call("poll", self._handle, timeout_ms)]

    def commit(self) -> None:
        self._client.call("commit", self._handle)

    def assignment(self) -> set[int]:
        return {int(partition) for partition in self._client.call("assignment", self._handle)}

    def offset_for_time(self, partition: int, timestamp_ms: int) -> int:
        return int(self._client.call("offset-for-time", self._handle, self._topic, partition, timestamp_ms)[0])

    def end_offset(self, partition: int) -> int:
        return int(self._client.call("end-offset", self._handle, self._topic, partition)[0])

    def received_bytes(self, broker_id: int) -> int:
        """Return how much came from a broker, but for what it said as the group's coordinator."""
        return int(self._client.call("received-bytes", self._handle, broker_id)[0])

    def close(self) -> None:
        self._client.call("close-consumer", self._handle)
