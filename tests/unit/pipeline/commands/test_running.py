"""What signals do to a run, and how lines of several runs are printed."""

import argparse
import errno
import io
import signal
import sys
from collections.abc import Iterator

import pytest

from barnabas.pipeline.commands import running
from barnabas.pipeline.commands.running import REPEATED_S, Stopper, tell, tell_batch
from barnabas.pipeline.runner.run_metrics import Figures


class Clock:
    """Time as it is asked for."""

    now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """A stopper's clock; signals are theirs again afterwards who had them."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    clock = Clock()
    monkeypatch.setattr(running, "time", clock)
    yield clock
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_a_second_signal_stops_at_once_and_one_that_was_sent_twice_is_one(clock: Clock) -> None:
    stopper = Stopper()
    stopper.begin()
    assert not stopper.is_stopped()
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    assert stopper.is_stopped()
    clock.now_s += REPEATED_S
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_signal_before_there_are_batches_ends_all(clock: Clock) -> None:
    Stopper()
    with pytest.raises(SystemExit) as ended:
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 0
    signal.raise_signal(signal.SIGTERM)


class FullDisk(io.StringIO):
    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_under_the_output_ends_no_run(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stdout", FullDisk())
    monkeypatch.setattr(sys, "stderr", FullDisk())
    stopper = Stopper()
    stopper.begin()
    tell(argparse.Namespace(json=False), "warning", text="load stopped; starting it again in 1 s")
    signal.raise_signal(signal.SIGTERM)
    assert stopper.is_stopped()


def test_a_line_is_written_whole_so_that_those_of_several_threads_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    class Parts(io.StringIO):
        def __init__(self) -> None:
            super().__init__()
            self.parts: list[str] = []

        def write(self, text: str) -> int:
            self.parts.append(text)
            return len(text)

    parts = Parts()
    monkeypatch.setattr(sys, "stdout", parts)
    arguments = argparse.Namespace(json=True)
    tell(arguments, "session", seconds=1.5)
    tell_batch(arguments, Figures("load"))
    assert len(parts.parts) == 2
    assert all(part.endswith("}\n") for part in parts.parts)
