"""`barnabas mirror`: what was in the sources is in the target, whatever becomes of the mirror.

`scripts/soak --mirror-command` kills mirrors again and again.
"""

import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.testing import Broker
from tests.patience import PATIENCE_S

T = TypeVar("T")

GROUP = "mirror"
FIRST_TIMESTAMP_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def brokers() -> Iterator[list[Broker]]:
    """Two sources and a target, each a cluster of its own."""
    with Broker() as west, Broker() as north, Broker(config={"num.partitions": 3}) as target:
        yield [west, north, target]


def create(broker: Broker, *topics: str, partitions: int = 3) -> None:
    """Create topics that keep what is old, as messages here are: else retention takes them after half a minute."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    new = [NewTopic(topic, partitions, 1, config={"retention.ms": "-1"}) for topic in topics]
    for made in admin.create_topics(new).values():
        made.result(PATIENCE_S)


def fill(broker: Broker, topic: str, numbers: range, source: str = "west") -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 5})
    for number in numbers:
        producer.produce(
            topic,
            value=None if number % 100 == 7 else f"{source}-{number}".encode(),
            key=f"key-{number % 50}".encode() if number % 10 else None,
            timestamp=FIRST_TIMESTAMP_MS + number,
            headers=[("n", str(number).encode()), ("n", None), ("source", source.encode())],
        )
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0


def read(broker: Broker, topics: Sequence[str], is_enough: Callable[[list[Message]], bool]) -> list[Message]:
    """What a cluster has of topics, until it is enough."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    partitions = [
        TopicPartition(topic, index, 0)
        for topic in topics
        for index in wait_for(lambda topic=topic: consumer.list_topics(topic).topics[topic].partitions)
    ]
    consumer.assign(partitions)
    found: list[Message] = []
    deadline = time.monotonic() + PATIENCE_S
    while not is_enough(found):
        assert time.monotonic() < deadline, f"{len(found)} messages, of {len(numbers_of(found))} numbers"
        found += [each for each in consumer.consume(1000, 0.2) if each.error() is None]
    consumer.close()
    return found


def wait_for(condition: Callable[[], T]) -> T:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def numbers_of(messages: Sequence[Message]) -> Counter[tuple[str, int]]:
    """How often each message of each source is there."""
    return Counter((header(each, "source"), int(header(each, "n"))) for each in messages)


def header(message: Message, name: str) -> str:
    headers = cast(list[tuple[str, bytes]], message.headers())
    return next(value.decode() for each, value in headers if each == name)


def shape(message: Message) -> tuple[object, ...]:
    return message.key(), message.value(), message.timestamp(), message.headers()


def write_config(path: Path, values: Mapping[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    return str(path)


def command(
    directory: Path,
    sources: Sequence[Broker],
    target: Broker,
    *options: str,
    group: str = GROUP,
    settings: Mapping[str, str] | None = None,
) -> list[str]:
    """A command line with its files.

    Args:
        settings: Of the target's file, beside where it is.
    """
    arguments = [sys.executable, "-m", "barnabas.cli.main", "mirror", "--offset.commit.interval.ms", "200"]
    for number, source in enumerate(sources):
        values = {"bootstrap.servers": source.bootstrap_servers, "group.id": group, "session.timeout.ms": "6000"}
        arguments += ["--consumer-config", write_config(directory / f"source-{number}.properties", values)]
    values = {"bootstrap.servers": target.bootstrap_servers, **(settings or {})}
    arguments += ["--producer-config", write_config(directory / "target.properties", values)]
    return [*arguments, *options]


@contextmanager
def running(arguments: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        _, said = process.communicate()
        print(said)


def stop(process: "subprocess.Popen[str]") -> str:
    """Stop it as a person does; what it said."""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    return said


def committed(broker: Broker, group: str, topic: str) -> dict[int, int]:
    """What a group has committed of a topic, by partition; it has left, or been thrown out, by then."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    partitions = [TopicPartition(topic, index) for index in consumer.list_topics(topic).topics[topic].partitions]
    try:
        return {each.partition: each.offset for each in consumer.committed(partitions, timeout=PATIENCE_S)}
    finally:
        consumer.close()


def ends(broker: Broker, topic: str) -> dict[int, int]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "ends"})
    try:
        return {
            index: consumer.get_watermark_offsets(TopicPartition(topic, index))[1]
            for index in consumer.list_topics(topic).topics[topic].partitions
        }
    finally:
        consumer.close()


def mirror_and_kill(west: Broker, target: Broker, topic: str, directory: Path, count: int = 20_000) -> str:
    """Kill a mirror when it has begun, another one when it has committed; a third one must bring what is left.

    Returns:
        What was committed at the second kill, and how often messages came twice: in words.
    """
    create(west, topic)
    create(target, topic)
    fill(west, topic, range(count))
    options = ("--whitelist", topic, "--num-streams", "2")
    # Many small requests, so that there is a middle.
    arguments = command(directory, [west], target, *options, group=topic, settings={"batch.size": "4000"})

    def some_are_committed() -> bool:
        return any(offset > 0 for offset in committed(west, topic, topic).values())

    with target.on("Produce", topic=topic).delay(0.02):
        with running(arguments) as process:
            read(target, [topic], bool)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        with running(arguments) as process:
            wait_for(some_are_committed)
            process.kill()
            assert process.wait() == -signal.SIGKILL
    before = committed(west, topic, topic)
    assert 0 < sum(offset for offset in before.values() if offset > 0) < count
    with running(arguments) as process:
        found = read(target, [topic], lambda found: len(found) >= count and len(numbers_of(found)) == count)
        stop(process)
    assert committed(west, topic, topic) == ends(west, topic)
    assert {number for _, number in numbers_of(found)} == set(range(count))
    return f"committed at the kill: {before}; {len(found)} messages for {count}"


def test_a_killed_mirror_leaves_nothing_out(brokers: list[Broker], tmp_path: Path) -> None:
    west, _, target = brokers
    print(mirror_and_kill(west, target, "killed", tmp_path))


def test_two_mirrors_share_a_group_and_one_takes_over_from_the_other(brokers: list[Broker], tmp_path: Path) -> None:
    west, _, target = brokers
    create(west, "taken-over", partitions=4)
    create(target, "taken-over")
    fill(west, "taken-over", range(4_000))
    options = ("--whitelist", "taken-over")
    arguments = command(tmp_path, [west], target, *options, group="taken-over", settings={"batch.size": "4000"})
    with running(arguments) as first, running(arguments) as second:
        read(target, ["taken-over"], lambda found: len(numbers_of(found)) == 4_000)
        first.kill()
        fill(west, "taken-over", range(4_000, 8_000))
        read(target, ["taken-over"], lambda found: len(numbers_of(found)) == 8_000)
        stop(second)
    assert committed(west, "taken-over", "taken-over") == ends(west, "taken-over")


def test_what_the_target_has_not_acknowledged_is_never_committed(brokers: list[Broker], tmp_path: Path) -> None:
    west, _, target = brokers
    create(west, "held", partitions=1)
    create(target, "held", partitions=1)
    fill(west, "held", range(1_000))
    arguments = command(tmp_path, [west], target, "--whitelist", "held", group="held")
    with running(arguments) as process:
        read(target, ["held"], lambda found: len(found) == 1_000)
        wait_for(lambda: committed(west, "held", "held") == {0: 1_000})
        with target.on("Produce", topic="held").hold() as held:
            fill(west, "held", range(1_000, 2_000))
            held.wait_for(1)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "the target did not acknowledge everything in time" in said
    assert committed(west, "held", "held") == {0: 1_000}


def test_memory_is_bounded_while_the_target_is_slow(brokers: list[Broker], tmp_path: Path) -> None:
    west, _, target = brokers
    create(west, "large", partitions=3)
    create(target, "large", partitions=3)
    producer = Producer({"bootstrap.servers": west.bootstrap_servers, "queue.buffering.max.kbytes": 600_000})
    for number in range(30_000):
        producer.produce("large", value=bytes(10_000), partition=number % 3)
    assert producer.flush(PATIENCE_S) == 0

    def resident_bytes() -> int:
        return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * resource.getpagesize()

    arguments = command(tmp_path, [west], target, "--whitelist", "large", group="large")
    with target.on("Produce", topic="large").hold() as held, running(arguments) as process:
        held.wait_for(1)
        seen: list[int] = []

        def takes_nothing_more() -> bool:
            seen.append(resident_bytes())
            return len(seen) > 20 and len(set(seen[-20:])) == 1

        wait_for(takes_nothing_more)
        process.kill()
        held.release()
    print(f"{seen[-1] / 1e6:.0f} MB resident of a source of 300 MB")
    assert seen[-1] < 150_000_000


def test_messages_stay_what_they_are_and_keys_together(brokers: list[Broker], tmp_path: Path) -> None:
    west, _, target = brokers
    create(west, "kept", partitions=2)
    create(target, "kept", partitions=5)
    fill(west, "kept", range(1_000))
    with running(command(tmp_path, [west], target, "--whitelist", "kept", group="kept")) as process:
        found = read(target, ["kept"], lambda found: len(found) >= 1_000)
        assert "1,000 messages" in stop(process)
    assert sorted(map(shape, found), key=repr) == sorted(
        map(shape, read(west, ["kept"], lambda found: len(found) == 1_000)), key=repr
    )
    places: dict[bytes, set[int]] = {}
    for each in found:
        if each.key() is not None:
            places.setdefault(each.key(), set()).add(each.partition())
    assert all(len(partitions) == 1 for partitions in places.values())
    assert len({next(iter(partitions)) for partitions in places.values()}) > 1
    # In a partition of the target the messages of one key are in the order in which they were written.
    for key in places:
        numbers = [int(header(each, "n")) for each in found if each.key() == key]
        assert numbers == sorted(numbers)


def test_partitions_are_kept_where_that_is_wanted(brokers: list[Broker], tmp_path: Path) -> None:
    west, _, target = brokers
    create(west, "placed", partitions=3)
    create(target, "placed", partitions=3)
    fill(west, "placed", range(600))
    arguments = command(tmp_path, [west], target, "--whitelist", "placed", "--keep-partitions", group="placed")
    with running(arguments) as process:
        found = read(target, ["placed"], lambda found: len(found) >= 600)
        stop(process)
    expected = read(west, ["placed"], lambda found: len(found) == 600)
    for index in range(3):
        assert [shape(each) for each in found if each.partition() == index] == [
            shape(each) for each in expected if each.partition() == index
        ]


def test_a_target_with_fewer_partitions_is_an_error_that_says_so(brokers: list[Broker], tmp_path: Path) -> None:
    west, _, target = brokers
    create(west, "fewer", partitions=3)
    create(target, "fewer", partitions=1)
    fill(west, "fewer", range(600))
    arguments = command(tmp_path, [west], target, "--whitelist", "fewer", "--keep-partitions", group="fewer")
    with running(arguments) as process:
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "--keep-partitions wants as many partitions" in said
    assert "Traceback" not in said


def test_several_sources_come_into_one_and_a_black_list_holds(brokers: list[Broker], tmp_path: Path) -> None:
    west, north, target = brokers
    black = "(?!shared|only-).*,only-private"
    for broker, name in ((west, "west"), (north, "north")):
        create(broker, "shared", f"only-{name}", "only-private", partitions=2)
        fill(broker, "shared", range(300), name)
        fill(broker, f"only-{name}", range(100), name)
        fill(broker, "only-private", range(50), name)
    with running(command(tmp_path, [west, north], target, "--blacklist", black, group="several")) as process:
        found = read(target, ["shared", "only-west", "only-north"], lambda found: len(numbers_of(found)) == 600)
        # What comes later is mirrored, too.
        fill(west, "shared", range(300, 320), "west")
        read(target, ["shared"], lambda found: len(numbers_of(found)) == 620)
        stop(process)
    assert Counter(each.topic() for each in found) == {"shared": 600, "only-west": 100, "only-north": 100}
    topics = AdminClient({"bootstrap.servers": target.bootstrap_servers}).list_topics().topics
    assert "only-private" not in topics


def test_a_mirror_into_its_own_source_is_refused(brokers: list[Broker], tmp_path: Path) -> None:
    west, *_ = brokers
    result = subprocess.run(
        command(tmp_path, [west], west, "--whitelist", ".*"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert result.returncode == 1
    assert "mirrored for ever" in result.stderr


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        ({}, {}, ("--whitelist", "["), "no regular expression"),
        ({}, {}, (), "--whitelist REGEX, or --blacklist REGEX"),
        ({"group.id": ""}, {}, ("--whitelist", "a"), "group.id is missing"),
        ({}, {}, ("--blacklist", ""), "must not be empty"),
        ({"bootstrap.servers": ""}, {}, ("--whitelist", "a"), "bootstrap.servers is missing"),
        ({"group.ip": "g"}, {}, ("--whitelist", "a"), "did you mean group.id"),
        ({"auto.offset.reset": "first"}, {}, ("--whitelist", "a"), "earliest, latest, none"),
        ({"fetch.max.bytes": "many"}, {}, ("--whitelist", "a"), "must be a number"),
        ({}, {"ack": "all"}, ("--whitelist", "a"), "did you mean acks"),
        ({}, {"acks": "seven"}, ("--whitelist", "a"), "acks"),
        ({}, {"bootstrap.servers": "127.0.0.1:1"}, ("--whitelist", "a"), "no broker of the target answers"),
    ],
)
def test_mistakes_are_one_line(
    brokers: list[Broker],
    tmp_path: Path,
    source: dict[str, str],
    target: dict[str, str],
    options: tuple[str, ...],
    message: str,
) -> None:
    west, _, into = brokers
    arguments = [
        *(sys.executable, "-m", "barnabas.cli.main", "mirror", *options),
        "--consumer-config",
        write_config(tmp_path / "s", {"bootstrap.servers": west.bootstrap_servers, "group.id": "g"} | source),
        "--producer-config",
        write_config(tmp_path / "t", {"bootstrap.servers": into.bootstrap_servers} | target),
    ]
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
