"""One consumer in a process of its own, and the board where all members' lines are noted as they come.

A line: kind, wall clock in ms, and what belongs to the kind, separated by tabs; see ../java/OldConsumerDriver.java.
"""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.compat.old_consumers.judge import Delivery, Rebalance
from tests.patience import PATIENCE_S
from tools.kafka.jars import KAFKA_0_8, ROOT
from tools.kafka.java import compiled, die_with_parent, java_command

_DRIVER = Path(__file__).parents[1] / "java" / "OldConsumerDriver.java"
KINDS = ("java", "python")
_UNTOLD_MS = 2_000
"""For how long a rebalance of ours may have gone on when it is told of."""


def now_ms() -> int:
    """The wall clock, as the members read it."""
    return time.time_ns() // 1_000_000


class Board:
    """What all members have said.

    Attributes:
        deliveries: In the order of their lines' arrival.
        rebalances: Those that are over.
        stores: Where each member that ever was looks for committed offsets.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.deliveries: list[Delivery] = []
        self.rebalances: list[Rebalance] = []
        self.stores: dict[str, tuple[str, ...]] = {}

    def wait(self, is_so: Callable[[], bool], what: Callable[[], str]) -> None:
        """Wait until something is so; it is asked after lines, and now and then.

        Args:
            is_so: May look elsewhere, too, and take its time.
            what: Tells what did not come.
        """
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what()}"
            with self.changed:
                self.changed.wait(0.1)


class Member:
    """A running consumer.

    Attributes:
        id: As its node's name has it.
        streams: Number of its streams, per topic.
        errors: What its connector complained of.
    """

    def __init__(
        self,
        board: Board,
        kind: str,
        group: str,
        name: str,
        subscription: Sequence[str],
        settings: Mapping[str, str],
        directory: Path,
    ) -> None:
        """Args:
        kind: One of `KINDS`.
        group: The group's id.
        name: The consumer's own, its `consumer.id`; no other ever has it.
        subscription: The driver's arguments before the settings.
        settings: Beside the two ids.
        directory: Where what it writes to standard error is kept.
        """
        self.kind, self.id = kind, f"{group}_{name}"
        self.errors: list[str] = []
        self.is_up = False
        self.is_down = False
        self.is_gone = False
        self.commit_count = 0
        self._board = board
        self._rebalance_began_ms: int | None = None
        storage = settings.get("offsets.storage", "zookeeper")
        is_dual = storage == "kafka" and settings.get("dual.commit.enabled", "true") == "true"
        board.stores[self.id] = ("zookeeper", "kafka") if is_dual else (storage,)
        named = {"group.id": group, "consumer.id": name, **settings}
        arguments = [*subscription, *(f"{key}={value}" for key, value in named.items())]
        if kind == "java":
            classes = compiled(_DRIVER, KAFKA_0_8)
            command = java_command("OldConsumerDriver", arguments, jar_set=KAFKA_0_8, extra_classpath=classes)
        else:
            command = [sys.executable, "-m", "tests.compat.old_consumers.python_driver", *arguments]
        self.log = directory / f"{name}.log"
        with self.log.open("ab") as log:
            self._process: subprocess.Popen[str] = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                preexec_fn=die_with_parent,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def is_rebalancing(self) -> bool:
        return self._rebalance_began_ms is not None

    def commit(self) -> None:
        """Have it commit, and wait until it has."""
        wanted = self.commit_count + 1
        self._say("commit")
        self._board.wait(lambda: self.commit_count >= wanted or self.is_gone, self.story)
        assert not self.is_gone, self.story()

    def shutdown(self) -> None:
        """Have it leave in order, and wait until its process is gone."""
        self._say("shutdown")
        self._board.wait(lambda: self.is_gone, self.story)
        assert self.is_down, self.story()
        self.close()

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self.close()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it if need be; all that it has said is noted."""
        self._process.kill()
        self._reader.join()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def story(self) -> str:
        """What it complained of, and the end of its log."""
        tail = self.log.read_text(errors="replace").splitlines()[-30:]
        return "\n".join([f"{self.id}:", *self.errors, *tail])

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # A process that is killed may leave half a line.
            if line.endswith("\n"):
                kind, at_ms, *tokens = line.rstrip("\n").split("\t")
                with self._board.changed:
                    self._note(kind, int(at_ms), tokens)
                    self._board.changed.notify_all()
        with self._board.changed:
            self.is_gone = True
            self._end_rebalance(now_ms())
            self._board.changed.notify_all()

    def _note(self, kind: str, at_ms: int, tokens: list[Any]) -> None:
        match kind, tokens:
            case "message", [topic, partition, offset]:
                self._board.deliveries.append(Delivery(self.id, (topic, int(partition)), int(offset), at_ms))
            case "rebalance", ["begin"]:
                # One that begins anew before it came to its end goes on.
                self._rebalance_began_ms = self._rebalance_began_ms or at_ms
            case "rebalance", ["end"]:
                self._end_rebalance(at_ms)
            case "committed", []:
                self.commit_count += 1
            case "up", []:
                self.is_up = True
            case "down", []:
                self.is_down = True
            case "error", [text]:
                self.errors.append(text)
            case _:
                raise ValueError(f"{self.id} said {kind} {tokens}")

    def _end_rebalance(self, at_ms: int) -> None:
        if self.kind == "python" and self._rebalance_began_ms is None and not self.is_gone:
            # Ours does not tell when it begins.
            self._rebalance_began_ms = at_ms - _UNTOLD_MS
        if self._rebalance_began_ms is not None:
            self._board.rebalances.append(Rebalance(self._rebalance_began_ms, at_ms, self.id))
            self._rebalance_began_ms = None
