"""Carries plans out: makes the embedded registry of an adopted directory, and writes a released one to ZooKeeper.

    registry.sqlite             the registry of a directory that is this broker's, in the first of its log.dirs
    registry.sqlite.new         one that is being made; it counts for nothing
    registry.released.sqlite    the registry as it was when the directory was given back

Invariants:

- The directories are locked as long as anything is written: no broker, ours or Kafka's, can start on them meanwhile.
- A kill at any moment leaves the directory with its registry or without it, never with half of one; what was asked for
  can be asked for again.
- A registry is put away only when ZooKeeper, read anew, has everything.

Source: design page, registry; log-format facts, files in a log dir.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.cli.migration.adoption import AdoptionPlan, plan_adoption
from barnabas.cli.migration.compatibility import check_fit, choose_target, fit, noted_target, target_nodes
from barnabas.cli.migration.directories import REGISTRY_FILE, DirectoryFacts, look_for_transactions, survey
from barnabas.cli.migration.kafka_versions import target_of
from barnabas.cli.migration.read_back import HeldTree, find_missing, summarize
from barnabas.cli.migration.release import ReleasePlan, plan_release
from barnabas.cli.migration.tree_copy import ADOPTED, Adopted, TreeCopy, encode_adopted, read_tree, with_parents
from barnabas.core.clock import Clock
from barnabas.core.dice import system_dice
from barnabas.core.errors import BarnabasError
from barnabas.core.executor import InlineExecutor
from barnabas.wire.registry.bootstrap import new_cluster_id
from barnabas.wire.registry.packets import in_packets
from barnabas.wire.registry.store import CreateOp, NodeExistsError, Op, Registry, RegistryError

NEW_REGISTRY_FILE = f"{REGISTRY_FILE}.new"
RELEASED_REGISTRY_FILE = "registry.released.sqlite"


class MigrationError(BarnabasError):
    """A plan that could not be carried out; one line that says what to do."""


class TargetRegistry(Registry, Protocol):
    """A tree that can be released to."""

    async def create_chroot(self) -> None:
        """Create the chroot of its address if it is missing."""
        ...


OpenTarget = Callable[[str], Awaitable[TargetRegistry]]


class Released(NamedTuple):
    """What came of a release.

    Attributes:
        plan: What was to be done.
        held: What the tree holds, read back after it was written; None: nothing was written, the plan is blocked.
        missing: What should be there and is not, a line for each; the directory is Kafka's only if there is none.
    """

    plan: ReleasePlan
    held: HeldTree | None = None
    missing: Sequence[str] = ()

    @property
    def is_done(self) -> bool:
        return self.held is not None and not self.missing


@contextlib.contextmanager
def locked(directories: Sequence[Path]) -> Iterator[None]:
    """Keep every broker out of some data directories.

    Raises:
        StartupError: A broker has one of them open.
    """
    taken: list[LogDirectory] = []
    try:
        for path in directories:
            directory = LogDirectory(LocalFileSystem(), path)
            directory.lock()
            taken.append(directory)
        yield
    finally:
        for directory in taken:
            directory.unlock()


# --- in


async def plan_to_adopt(
    directories: Sequence[Path],
    connect: str | None,
    *,
    allows_missing: bool,
    kafka_version: str | None = None,
    is_locked: bool = False,
) -> AdoptionPlan:
    """Look at everything and plan.

    Args:
        directories: All of the broker's log.dirs; the registry will stand in the first.
        connect: As zookeeper.connect; None: there is no tree.
        allows_missing: Let partitions whose logs are nowhere start empty.
        kafka_version: Which Kafka must be able to read what is written; None: it is found out.
        is_locked: This process holds the directories' locks.

    Raises:
        ConfigError: There is no such version of Kafka's.
        StartupError: ZooKeeper does not answer, or has no such chroot.
        MigrationError: A node may not be read.
    """
    facts = [survey(path, finds_producers=connect is None, is_locked=is_locked) for path in directories]
    for each in facts:
        look_for_transactions(each)
    tree = None if connect is None else await read_target(connect, may_be_missing=False)
    plan = plan_adoption(facts, tree, new_cluster_id(system_dice()), allows_missing=allows_missing)
    if not plan.is_blocked:
        choose_target(plan, facts, tree, kafka_version)
    return plan


async def adopt(
    directories: Sequence[Path],
    connect: str | None,
    clock: Clock,
    *,
    allows_missing: bool,
    kafka_version: str | None = None,
) -> AdoptionPlan:
    """Plan as `plan_to_adopt` does, and make the registry in the first directory.

    Returns:
        The plan; nothing was done if it is blocked.

    Raises:
        StartupError: A directory is in use, or as from `plan_to_adopt`.
        StorageError: The disk failed.
    """
    plan = await plan_to_adopt(directories, connect, allows_missing=allows_missing, kafka_version=kafka_version)
    if plan.is_blocked:
        return plan
    with locked(directories):
        plan = await plan_to_adopt(
            directories, connect, allows_missing=allows_missing, kafka_version=kafka_version, is_locked=True
        )
        if not plan.is_blocked:
            await _make_registry(plan, directories[0], clock)
    return plan


async def _make_registry(plan: AdoptionPlan, directory: Path, clock: Clock) -> None:
    files = LocalFileSystem()
    new = directory / NEW_REGISTRY_FILE
    _remove_database(new)
    registry = await EmbeddedRegistry.open(new, clock, InlineExecutor())
    try:
        adopted = Adopted(plan.source, plan.tree_id, plan.nodes, plan.added, plan.has_made_up_id)
        remembered = {**target_nodes(plan.target), ADOPTED: encode_adopted(adopted, clock.now_ms())}
        nodes = with_parents({**plan.nodes, **remembered})
        await registry.multi([CreateOp(node, data) for node, data in nodes.items()])
    finally:
        await registry.close()
    files.sync(new)
    files.rename(new, directory / REGISTRY_FILE)
    files.sync(directory)


# --- out


def find_registry(directories: Sequence[Path]) -> Path:
    """The registry of a broker's directories.

    Raises:
        MigrationError: There is none, or more than one.
    """
    found = [path / REGISTRY_FILE for path in directories if (path / REGISTRY_FILE).exists()]
    if len(found) == 1:
        return found[0]
    where = ", ".join(map(str, directories))
    if not found:
        raise MigrationError(f"{where}: there is no {REGISTRY_FILE}: nothing here is this broker's to release")
    raise MigrationError(f"{where}: each has a {REGISTRY_FILE}, so they belong to different brokers")


async def read_registry(path: Path, clock: Clock) -> TreeCopy:
    """Read an embedded registry that no broker has open.

    Raises:
        StartupError: A broker has it open, or it can't be read.
    """
    registry = await EmbeddedRegistry.open(path, clock, InlineExecutor())
    try:
        return await read_tree(registry, str(path))
    finally:
        await registry.close()


async def open_zookeeper(connect: str) -> TargetRegistry:
    """Begin a session with a ZooKeeper.

    Raises:
        StartupError: Nobody answers.
    """
    # kazoo is loaded by those who need it: every command of the command line loads this module.
    from barnabas.cli.migration.zookeeper_login import command_options
    from barnabas.wire.registry.zookeeper import ZooKeeperRegistry

    return await ZooKeeperRegistry.open(command_options(connect))


async def read_target(connect: str, *, may_be_missing: bool, open_target: OpenTarget = open_zookeeper) -> TreeCopy:
    """Read a ZooKeeper tree.

    Args:
        connect: As zookeeper.connect.
        may_be_missing: A chroot that does not exist counts as an empty tree.
        open_target: Begins a session.

    Raises:
        StartupError: Nobody answers, or there is no such chroot.
        MigrationError: A node may not be read, or the connection broke.
    """
    registry = await open_target(connect)
    try:
        if may_be_missing and await registry.exists("/") is None:
            return TreeCopy(connect)
        return await read_tree(registry, connect)
    except RegistryError as error:
        raise MigrationError(f"{connect} could not be read ({error})") from None
    finally:
        await registry.close()


class Told(NamedTuple):
    """What a person says of a release.

    Attributes:
        kafka_version: Which Kafka will start on the directories; None: the one that `adopt` noted.
        cluster_id: Whose the tree is, of directories that do not know their cluster; None: they do.
    """

    kafka_version: str | None = None
    cluster_id: str | None = None


_NOTHING_TOLD = Told()


async def plan_to_release(
    directories: Sequence[Path], connect: str, clock: Clock, told: Told = _NOTHING_TOLD
) -> ReleasePlan:
    """Look at everything and plan.

    Args:
        directories: All of the broker's log.dirs.
        connect: As zookeeper.connect; the chroot need not exist.
        told: What can't be found out.

    Raises:
        ConfigError: There is no such version of Kafka's.
        MigrationError: The directories have no registry, or several, or a node of the tree may not be read.
        StartupError: A broker has the registry open, or ZooKeeper does not answer.
    """
    return (await _look(directories, connect, clock, open_zookeeper)).checked_plan(told)


async def release(
    directories: Sequence[Path],
    connect: str,
    clock: Clock,
    open_target: OpenTarget = open_zookeeper,
    told: Told = _NOTHING_TOLD,
) -> Released:
    """Plan as `plan_to_release` does, write ZooKeeper, read it back, and put the registry away if all is there.

    Raises:
        MigrationError: Somebody else changed ZooKeeper meanwhile: what was written stays, the rest is to be done again.
        StartupError: A directory is in use, or as from `plan_to_release`.
    """
    plan = (await _look(directories, connect, clock, open_target)).plan(told)
    if plan.is_blocked:
        return Released(plan)
    with locked(directories):
        before = await _look(directories, connect, clock, open_target, is_locked=True)
        plan = before.checked_plan(told)
        if plan.is_blocked:
            return Released(plan)
        await _write(connect, plan.ops, open_target)
        after = before._replace(target=await read_target(connect, may_be_missing=True, open_target=open_target))
        missing = find_missing(plan, before.registry, before.target, after.target)
        if not missing:
            left = after.plan(told)
            if left.is_blocked or left.ops:
                raise MigrationError(
                    f"somebody else changes {connect} at the same time; when that is over, run this again"
                )
            fit(directories, plan.kafka.version, plan.cluster_id, clock)
            registry = find_registry(directories)
            files = LocalFileSystem()
            files.rename(registry, registry.with_name(RELEASED_REGISTRY_FILE))
            files.sync(registry.parent)
    return Released(plan, summarize(after.target), missing)


class _Seen(NamedTuple):
    """All that a release is planned from."""

    directories: list[DirectoryFacts]
    registry: TreeCopy
    target: TreeCopy

    def plan(self, told: Told) -> ReleasePlan:
        plan = plan_release(*self, told_cluster_id=told.cluster_id)
        plan.kafka = target_of(told.kafka_version, noted_target(self.registry.nodes))
        return plan

    def checked_plan(self, told: Told) -> ReleasePlan:
        """Look also whether that Kafka can read the logs; reads all of them when it is an old one."""
        plan = self.plan(told)
        if not plan.is_blocked:
            plan.findings += check_fit(self.directories, self.registry.nodes, plan.kafka.version)
        return plan


async def _look(
    directories: Sequence[Path], connect: str, clock: Clock, open_target: OpenTarget, *, is_locked: bool = False
) -> _Seen:
    facts = [survey(path, finds_producers=False, is_locked=is_locked) for path in directories]
    ours = await read_registry(find_registry(directories), clock)
    return _Seen(facts, ours, await read_target(connect, may_be_missing=True, open_target=open_target))


async def _write(connect: str, ops: Sequence[Op], open_target: OpenTarget) -> None:
    registry = await open_target(connect)
    try:
        await registry.create_chroot()
        for some in in_packets(ops):
            await _write_some(registry, some, connect)
    finally:
        await registry.close()


async def _write_some(registry: Registry, ops: list[Op], connect: str) -> None:
    try:
        await registry.multi(ops)
    except NodeExistsError as error:
        raise MigrationError(f"{connect}: {error.path} was made meanwhile; run this again") from None
    except RegistryError as error:
        raise MigrationError(
            f"{connect} could not be written ({error}); what is missing is written when run again"
        ) from None


def _remove_database(path: Path) -> None:
    files = LocalFileSystem()
    for suffix in ("", "-wal", "-shm", "-journal"):
        files.remove(path.with_name(path.name + suffix))
