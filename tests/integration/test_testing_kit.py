"""`barnabas.testing.Broker` and the pytest plugin, with real processes."""

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.core.errors import StartupError
from barnabas.testing import Broker, ErrorCode
from tests.patience import PATIENCE_S, until

pytest_plugins = "pytester"


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # A zombie whose new parent has not looked yet is as good as gone.
    return f"{pid} (" in (stat := Path(f"/proc/{pid}/stat").read_text()) and ") Z " in stat


def can_connect(broker: Broker) -> bool:
    try:
        socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S).close()
    except ConnectionRefusedError:
        return False
    return True


def produce(broker: Broker, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("views", value, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def consume(broker: Broker, count: int) -> list[bytes]:
    with closing(
        Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "kit", "enable.auto.commit": False})
    ) as consumer:
        consumer.assign([TopicPartition("views", 0, 0)])
        messages = consumer.consume(count, timeout=PATIENCE_S)
        return [message.value() for message in messages]


def test_a_broker_serves_and_leaves_nothing_behind() -> None:
    with Broker() as broker:
        directory, pid = broker.data_dir.parent, broker.pid
        produce(broker, b"one")
        assert consume(broker, 1) == [b"one"]
        assert broker.is_running
        assert "listens on" in broker.log_text()
        assert (broker.data_dir / "meta.properties").exists()
    assert not broker.is_running
    assert is_gone(pid)
    assert not directory.exists()
    assert not can_connect(broker)
    assert "listens on" in broker.log_text()


def test_a_broker_in_async_code() -> None:
    async def use() -> int:
        async with Broker() as broker:
            _, writer = await asyncio.open_connection(broker.host, broker.port)
            writer.close()
            await writer.wait_closed()
            return broker.pid

    assert is_gone(asyncio.run(use()))


@pytest.mark.parametrize("end", [pytest.param(Broker.stop, marks=pytest.mark.whole), Broker.kill])
def test_a_broker_comes_back_on_its_port_with_its_data(end: Callable[[Broker], None]) -> None:
    with Broker() as broker:
        servers, cluster_id = broker.bootstrap_servers, broker.cluster_id
        produce(broker, b"one")
        end(broker)
        assert not broker.is_running
        assert not can_connect(broker)
        broker.start()
        assert (broker.bootstrap_servers, broker.cluster_id) == (servers, cluster_id)
        produce(broker, b"two")
        broker.restart()
        assert consume(broker, 2) == [b"one", b"two"]


def test_a_paused_broker_keeps_no_test_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    with Broker() as broker:
        with broker.on("Produce").fail(ErrorCode.NOT_LEADER_OR_FOLLOWER) as failed:
            broker.pause()
            monkeypatch.setattr("barnabas.testing.control._ANSWER_S", 0.2)
            for ask in (broker.on("Fetch").watch, broker.stalls_of_late_ms):
                with pytest.raises(RuntimeError, match="paused"):
                    ask()
        broker.resume()
        produce(broker, b"one")
        assert failed.count == 0
        broker.pause()
        broker.restart()
        assert "stopping: SIGTERM" in broker.log_text()
        assert consume(broker, 1) == [b"one"]


def test_settings_reach_the_broker() -> None:
    with Broker(config={"num.partitions": 3, "auto.create.topics.enable": True}) as broker:
        produce(broker, b"one")
        assert len(list(broker.data_dir.glob("views-*"))) == 3


def test_two_brokers_at_once() -> None:
    with Broker() as one, Broker() as two:
        assert one.port != two.port
        assert one.cluster_id != two.cluster_id


def test_a_data_directory_of_the_callers_own_stays(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        produce(broker, b"one")
        assert broker.data_dir == tmp_path
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    with Broker(data_dir=tmp_path) as broker:
        assert consume(broker, 1) == [b"one"]


def test_an_impossible_setting_is_told_in_one_line() -> None:
    broker = Broker(config={"num.partitions": "many"})
    with pytest.raises(StartupError, match=r"num\.partitions"), broker:
        pass
    assert not broker.is_running


def test_a_port_in_use_is_told_in_one_line() -> None:
    with Broker() as broker, pytest.raises(StartupError, match=str(broker.port)), Broker(port=broker.port):
        pass


def test_a_running_broker_is_not_started_twice() -> None:
    with Broker() as broker, pytest.raises(RuntimeError, match="running already"):
        broker.start()


def test_a_broker_outlives_the_thread_that_started_it() -> None:
    broker = Broker()
    thread = threading.Thread(target=broker.start)
    thread.start()
    thread.join()
    try:
        produce(broker, b"one")
        assert consume(broker, 1) == [b"one"]
    finally:
        broker.close()


def test_a_forgotten_broker_ends() -> None:
    broker = Broker().start()
    pid, directory = broker.pid, broker.data_dir.parent
    del broker
    gc.collect()
    assert is_gone(pid)
    assert not directory.exists()


PARENT = """
import json, sys, time
from barnabas.testing import Broker

broker = Broker().start()
print(json.dumps([broker.pid, str(broker.data_dir.parent)]), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["killed", "ended"])
def test_a_broker_ends_with_its_parent(end: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid, directory = json.loads(parent.stdout.readline())
        assert not is_gone(pid)
        if end == "killed":
            parent.send_signal(signal.SIGKILL)
    # The end of its input lets the other one go.
    until(lambda: is_gone(pid))
    until(lambda: not Path(directory).exists())


PLUGIN_TESTS = """
import pytest

pids = []

def test_each_test_has_its_own(kafka_broker):
    pids.append(kafka_broker.pid)

def test_and_it_is_a_new_one(kafka_broker):
    assert kafka_broker.pid not in pids

def test_the_session_shares_one(kafka_broker_session):
    pids.append(kafka_broker_session.pid)

def test_and_it_stays(kafka_broker_session):
    assert kafka_broker_session.pid in pids

@pytest.mark.kafka_broker(config={"num.partitions": "many"})
def test_settings_of_one_test(kafka_broker):
    pass

def test_which_fails(kafka_broker):
    assert False
"""


def test_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PLUGIN_TESTS)
    result = pytester.runpytest_subprocess("-p", "no:randomly", "--strict-markers")
    result.assert_outcomes(passed=4, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*StartupError*num.partitions*", "*Log of kafka_broker*", "*listens on*"])


def test_the_plugin_takes_settings_from_a_fixture(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
        import pytest

        @pytest.fixture(scope="session")
        def kafka_broker_config():
            return {"num.partitions": "many"}
    """)
    pytester.makepyfile("""
        import pytest

        def test_it(kafka_broker):
            pass

        @pytest.mark.kafka_broker(config={"num.partitions": 2})
        def test_the_marker_wins(kafka_broker):
            pass
    """)
    pytester.runpytest_subprocess().assert_outcomes(passed=1, errors=1)


def test_a_broker_says_for_how_long_its_event_loop_stood_still():
    with Broker() as broker:
        longest_ms, computing_ms = broker.stalls_of_late_ms()
        assert 0 <= computing_ms <= longest_ms
        broker.kill()
        with pytest.raises(RuntimeError):
            broker.stalls_of_late_ms()
