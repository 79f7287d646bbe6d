"""`apply.release` against a tree in memory: what is written is read back before the registry is put away."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.executor import InlineExecutor
from barnabas.migration import apply
from barnabas.migration.apply import MigrationError, Released
from barnabas.migration.directories import REGISTRY_FILE
from barnabas.migration.read_back import Leader
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry import paths
from barnabas.wire.registry.packets import in_packets
from barnabas.wire.registry.store import CreateOp, DeleteOp, Op, OpResult, RegistryClosedError, SetOp
from tests.unit.migration.trees import leave_log_at_close

ADDRESS = "zk:2181/fresh"
Ruin = Callable[[EmbeddedRegistry, int], Awaitable[None]]


class Target(EmbeddedRegistry):
    """A ZooKeeper whose tree outlives its sessions, and which something may happen to after each write."""

    ruin: Ruin | None = None
    write_count = 0

    async def create_chroot(self) -> None:
        return None

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        results = await super().multi(ops)
        if self.ruin is not None:
            ruin, self.ruin = self.ruin, None
            await ruin(self, self.write_count)
            self.ruin = ruin
        self.write_count += 1
        return results

    async def close(self) -> None:
        return None


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A broker's, adopted without a tree: topics `t` with two partitions and `u` with one."""
    LogDirectory(LocalFileSystem(), tmp_path).write_identity(7, "c" * 22, 0)
    for name in ("t-0", "t-1", "u-0"):
        (tmp_path / name).mkdir()
    assert not asyncio.run(apply.adopt([tmp_path], None, ManualClock(), allows_missing=False)).is_blocked
    return tmp_path


def release(data_dir: Path, *ruins: Ruin | None) -> list[Released | Exception]:
    """Release to one tree once for each of what happens to it while it is written."""

    async def story() -> list[Released | Exception]:
        target = await Target.open(None, ManualClock(), InlineExecutor())
        assert isinstance(target, Target)

        async def opened(_: str) -> Target:
            assert isinstance(target, Target)
            return target

        outcomes: list[Released | Exception] = []
        for ruin in ruins:
            target.ruin, target.write_count = ruin, 0
            try:
                outcomes.append(await apply.release([data_dir], ADDRESS, ManualClock(), opened))
            except MigrationError as error:
                outcomes.append(error)
        return outcomes

    return asyncio.run(story())


def test_what_the_tree_holds_is_read_back(data_dir: Path) -> None:
    (released,) = release(data_dir, None)
    assert isinstance(released, Released)
    assert released.is_done
    assert released.held is not None
    assert released.held.cluster_id == "c" * 22
    assert [(each.name, each.partitions) for each in released.held.topics] == [
        ("t", {0: Leader(7, 0), 1: Leader(7, 0)}),
        ("u", {0: Leader(7, 0)}),
    ]
    assert released.held.topics[0].settings == {"retention.ms": "-1", "retention.bytes": "-1"}
    assert not (data_dir / REGISTRY_FILE).exists()
    assert (data_dir / apply.RELEASED_REGISTRY_FILE).exists()


@pytest.mark.parametrize(
    ("ops", "missing"),
    [
        ([DeleteOp(paths.topic_config("t"))], [f"{paths.topic_config('t')} is missing"]),
        (
            [DeleteOp(paths.partition_state("t", 1))],
            [
                f"{paths.partition_state('t', 1)} is missing",
                f"{paths.partition_state('t', 1)} does not name broker 7 as leader",
            ],
        ),
        ([SetOp(paths.topic_config("t"), b'{"config":{}}')], [f"{paths.topic_config('t')} has other data"]),
        ([CreateOp("/config/users/stranger")], ["/config/users/stranger should not exist"]),
        (
            [SetOp(paths.topic("t"), b'{"version":2,"partitions":{"0":[7]}}')],
            [f"{paths.topic('t')} has other data", "partition t-1 is missing"],
        ),
    ],
)
def test_a_tree_that_does_not_hold_what_was_written_is_not_released_to(
    data_dir: Path, ops: list[Op], missing: list[str]
) -> None:
    async def ruin(registry: EmbeddedRegistry, _: int) -> None:
        await registry.multi(ops)

    (released,) = release(data_dir, ruin)
    assert isinstance(released, Released)
    assert list(released.missing) == missing
    assert not released.is_done
    assert (data_dir / REGISTRY_FILE).exists()


def test_a_registry_that_sqlite_could_not_complete_is_not_put_away(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patches:
        leave_log_at_close(patches)
        (refused,) = release(data_dir, None)
    assert isinstance(refused, MigrationError)
    assert "disk is full" in str(refused)
    assert not (data_dir / apply.RELEASED_REGISTRY_FILE).exists()
    (released,) = release(data_dir, None)
    assert isinstance(released, Released)
    assert released.is_done


def test_an_interrupted_release_is_finished_by_running_it_again(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apply, "in_packets", partial(in_packets, most_ops=3))

    async def break_off(registry: EmbeddedRegistry, write_count: int) -> None:
        if write_count == 2:
            raise RegistryClosedError("/")

    broken, released = release(data_dir, break_off, None)
    assert isinstance(broken, MigrationError)
    assert "run this command again to write the rest" in str(broken)
    assert isinstance(released, Released)
    assert released.is_done
    assert released.held is not None
    assert [topic.name for topic in released.held.topics] == ["t", "u"]
