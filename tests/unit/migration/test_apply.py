import asyncio
from pathlib import Path

import pytest

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.errors import StartupError
from barnabas.core.executor import InlineExecutor
from barnabas.migration import apply
from barnabas.migration.adoption import AdoptionPlan
from barnabas.migration.directories import REGISTRY_FILE
from barnabas.migration.tree_copy import ADOPTED, Adopted, decode_adopted, is_carried
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry import paths
from tests.unit.migration.trees import leave_log_at_close


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    LogDirectory(LocalFileSystem(), tmp_path).write_identity(7, "c" * 22, 0)
    (tmp_path / "t-0").mkdir()
    return tmp_path


def adopt(*directories: Path) -> AdoptionPlan:
    return asyncio.run(apply.adopt(directories, None, ManualClock(), allows_missing=False))


def test_the_registry_holds_the_plan_and_remembers_it(data_dir: Path) -> None:
    plan = adopt(data_dir)
    assert not plan.is_blocked
    found = asyncio.run(apply.read_registry(apply.find_registry([data_dir]), ManualClock()))
    assert {path: data for path, data in found.nodes.items() if is_carried(path)} == plan.nodes
    assert decode_adopted(found.nodes[ADOPTED]) == Adopted(None, None, plan.nodes, frozenset(plan.nodes))
    assert paths.topic("t") in plan.nodes


def test_adopting_twice_is_refused(data_dir: Path) -> None:
    adopt(data_dir)
    before = (data_dir / REGISTRY_FILE).read_bytes()
    assert adopt(data_dir).is_blocked
    assert (data_dir / REGISTRY_FILE).read_bytes() == before


def test_planning_changes_nothing(data_dir: Path) -> None:
    before = sorted(data_dir.rglob("*"))
    asyncio.run(apply.plan_to_adopt([data_dir], None, allows_missing=False))
    assert sorted(data_dir.rglob("*")) == before


def test_what_was_left_by_a_kill_half_way_is_made_anew(data_dir: Path) -> None:
    (data_dir / apply.NEW_REGISTRY_FILE).write_bytes(b"half")
    (data_dir / f"{apply.NEW_REGISTRY_FILE}-wal").write_bytes(b"half")
    assert not adopt(data_dir).is_blocked
    assert [path.name for path in data_dir.glob("registry*")] == [REGISTRY_FILE]


def test_the_log_of_a_registry_that_was_moved_away_does_not_get_into_the_new_one(data_dir: Path) -> None:
    file, log = data_dir / REGISTRY_FILE, data_dir / f"{REGISTRY_FILE}-wal"

    async def leave() -> None:
        registry = await EmbeddedRegistry.open(file, ManualClock(), InlineExecutor())
        await registry.create("/old")
        content = log.read_bytes()
        await registry.close()
        log.write_bytes(content)

    asyncio.run(leave())
    file.unlink()
    plan = adopt(data_dir)
    found = asyncio.run(apply.read_registry(file, ManualClock()))
    assert {path: data for path, data in found.nodes.items() if is_carried(path)} == plan.nodes


def test_a_registry_that_sqlite_could_not_complete_is_not_used(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_log_at_close(monkeypatch)
    with pytest.raises(apply.MigrationError, match="disk is full"):
        adopt(data_dir)
    assert not (data_dir / REGISTRY_FILE).exists()
    monkeypatch.undo()
    assert not adopt(data_dir).is_blocked


def test_a_directory_in_use_is_refused(data_dir: Path) -> None:
    other = LogDirectory(LocalFileSystem(), data_dir)
    other.lock()
    with pytest.raises(StartupError, match="in use by another broker"):
        adopt(data_dir)
    other.unlock()
    assert list(data_dir.glob("registry*")) == []
    adopt(data_dir)


def test_the_registry_stands_in_the_first_of_several_directories(tmp_path: Path) -> None:
    directories = [tmp_path / name for name in "ab"]
    for directory in directories:
        directory.mkdir()
        LogDirectory(LocalFileSystem(), directory).write_identity(7, "c" * 22, 0)
    adopt(*directories)
    assert apply.find_registry(directories[::-1]) == directories[0] / REGISTRY_FILE


def test_there_must_be_one_registry_to_release(tmp_path: Path) -> None:
    directories = [tmp_path / name for name in "ab"]
    with pytest.raises(apply.MigrationError, match="these directories were not adopted"):
        apply.find_registry(directories)
    for directory in directories:
        directory.mkdir()
        (directory / REGISTRY_FILE).touch()
    with pytest.raises(apply.MigrationError, match="belong to different brokers"):
        apply.find_registry(directories)
