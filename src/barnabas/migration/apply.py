"""Carries plans out: makes the embedded registry of an adopted directory, and writes a released one to ZooKeeper.

    registry.sqlite             the registry of an adopted directory, in the first of its log.dirs
    registry.sqlite.new         a registry that is being created; ignored
    registry.released.sqlite    the registry at the time of the release

Invariants:

- The directories are locked while anything is written: no Barnabas or Kafka broker can start on them meanwhile.
- A kill at any moment leaves the directory with a complete registry or none; the command can be repeated.
- A registry is renamed only after ZooKeeper was read back and is complete.
- A registry is renamed without its write-ahead log only if it does not need the log.

Source: design page, registry; log-format facts, files in a log dir.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.clock import Clock
from barnabas.core.dice import system_dice
from barnabas.core.errors import BarnabasError
from barnabas.core.executor import InlineExecutor
from barnabas.migration.adoption import AdoptionPlan, plan_adoption
from barnabas.migration.compatibility import check_fit, choose_target, fit, noted_target, target_nodes
from barnabas.migration.directories import REGISTRY_FILE, DirectoryFacts, look_for_transactions, survey
from barnabas.migration.kafka_versions import target_of
from barnabas.migration.read_back import TreeSummary, find_missing, summarize
from barnabas.migration.release import ReleasePlan, plan_release
from barnabas.migration.tree_copy import ADOPTED, Adopted, TreeCopy, encode_adopted, read_tree, with_parents
from barnabas.wire.registry.bootstrap import new_cluster_id
from barnabas.wire.registry.packets import in_packets
from barnabas.wire.registry.store import CreateOp, NodeExistsError, Op, Registry, RegistryError

NEW_REGISTRY_FILE = f"{REGISTRY_FILE}.new"
RELEASED_REGISTRY_FILE = "registry.released.sqlite"


class MigrationError(BarnabasError):
    """A plan failed; the message is one line that says what to do."""


class TargetRegistry(Registry, Protocol):
    """A ZooKeeper tree as the target of a release."""

    async def create_chroot(self) -> None:
        """Create the chroot of its address if it is missing."""
        ...


OpenTarget = Callable[[str], Awaitable[TargetRegistry]]


class Released(NamedTuple):
    """The result of a release.

    Attributes:
        plan: The plan.
        held: Contents of the tree, read back after the write; None if the plan is blocked and nothing was written.
        missing: A line for each missing or different node; Kafka may start only if the list is empty.
    """

    plan: ReleasePlan
    held: TreeSummary | None = None
    missing: Sequence[str] = ()

    @property
    def is_done(self) -> bool:
        return self.held is not None and not self.missing


@contextlib.contextmanager
def locked(directories: Sequence[Path]) -> Iterator[None]:
    """Lock data directories against brokers.

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


# --- adopt


async def plan_to_adopt(
    directories: Sequence[Path],
    connect: str | None,
    *,
    allows_missing: bool,
    kafka_version: str | None = None,
    is_locked: bool = False,
) -> AdoptionPlan:
    """Read the present state and make a plan.

    Args:
        directories: All of the broker's log.dirs; the registry is created in the first.
        connect: Address as in zookeeper.connect; None without a tree.
        allows_missing: Let partitions without a log start empty.
        kafka_version: Kafka version that must be able to read new data; None to derive it.
        is_locked: This process has locked the directories.

    Raises:
        ConfigError: The Kafka version does not exist.
        StartupError: ZooKeeper does not answer, or the chroot does not exist.
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
    """Plan as `plan_to_adopt` does, and create the registry in the first directory.

    Returns:
        The plan; nothing was done if it is blocked.

    Raises:
        StartupError: A directory is in use, or as from `plan_to_adopt`.
        StorageError: The disk failed.
        MigrationError: The disk is full, or as from `plan_to_adopt`.
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
    files.remove(new)
    _remove_database_logs(new)
    registry = await EmbeddedRegistry.open(new, clock, InlineExecutor())
    try:
        adopted = Adopted(plan.source, plan.tree_id, plan.nodes, plan.added, plan.has_made_up_id)
        remembered = {**target_nodes(plan.target), ADOPTED: encode_adopted(adopted, clock.now_ms())}
        nodes = with_parents({**plan.nodes, **remembered})
        await registry.multi([CreateOp(node, data) for node, data in nodes.items()])
    finally:
        await registry.close()
    _check_complete(new)
    files.sync(new)
    # SQLite would apply the log of an earlier registry, whose file was moved away, to this one.
    _remove_database_logs(directory / REGISTRY_FILE)
    files.rename(new, directory / REGISTRY_FILE)
    files.sync(directory)


# --- release


def find_registry(directories: Sequence[Path]) -> Path:
    """Return the registry file of a broker's directories.

    Raises:
        MigrationError: No directory has one, or several have.
    """
    found = [path / REGISTRY_FILE for path in directories if (path / REGISTRY_FILE).exists()]
    if len(found) == 1:
        return found[0]
    where = ", ".join(map(str, directories))
    if not found:
        raise MigrationError(f"{where}: {REGISTRY_FILE} does not exist: these directories were not adopted")
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
    """Open a session with a ZooKeeper.

    Raises:
        StartupError: ZooKeeper does not answer.
    """
    # Imported late: every command loads this module, but few need kazoo.
    from barnabas.clients.zookeeper.registry import ZooKeeperRegistry
    from barnabas.migration.zookeeper_login import command_options

    return await ZooKeeperRegistry.open(command_options(connect))


async def read_target(connect: str, *, may_be_missing: bool, open_target: OpenTarget = open_zookeeper) -> TreeCopy:
    """Read a ZooKeeper tree.

    Args:
        connect: Address as in zookeeper.connect.
        may_be_missing: A chroot that does not exist counts as an empty tree.
        open_target: Opens a session.

    Raises:
        StartupError: ZooKeeper does not answer, or the chroot does not exist.
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


class ReleaseInput(NamedTuple):
    """User input for a release.

    Attributes:
        kafka_version: Kafka version that will start on the directories; None for the one recorded by `adopt`.
        cluster_id: Cluster id of the tree, for directories adopted with a generated id; None for others.
    """

    kafka_version: str | None = None
    cluster_id: str | None = None


_NO_INPUT = ReleaseInput()


async def plan_to_release(
    directories: Sequence[Path], connect: str, clock: Clock, user_input: ReleaseInput = _NO_INPUT
) -> ReleasePlan:
    """Read the present state and make a plan.

    Args:
        directories: All of the broker's log.dirs.
        connect: Address as in zookeeper.connect; the chroot need not exist.
        user_input: Kafka version and cluster id from the command line.

    Raises:
        ConfigError: The Kafka version does not exist.
        MigrationError: The directories have no registry, or several, or a node of the tree may not be read.
        StartupError: A broker has the registry open, or ZooKeeper does not answer.
    """
    return (await _look(directories, connect, clock, open_zookeeper)).checked_plan(user_input)


async def release(
    directories: Sequence[Path],
    connect: str,
    clock: Clock,
    open_target: OpenTarget = open_zookeeper,
    user_input: ReleaseInput = _NO_INPUT,
) -> Released:
    """Plan as `plan_to_release` does, write ZooKeeper, read it back, and rename the registry if the tree is complete.

    Raises:
        MigrationError: Another client changed ZooKeeper meanwhile, or the disk is full: written nodes stay, and the
            release must be repeated.
        StartupError: A directory is in use, or as from `plan_to_release`.
    """
    plan = (await _look(directories, connect, clock, open_target)).plan(user_input)
    if plan.is_blocked:
        return Released(plan)
    with locked(directories):
        before = await _look(directories, connect, clock, open_target, is_locked=True)
        plan = before.checked_plan(user_input)
        if plan.is_blocked:
            return Released(plan)
        await _write(connect, plan.ops, open_target)
        after = before._replace(target=await read_target(connect, may_be_missing=True, open_target=open_target))
        missing = find_missing(plan, before.registry, before.target, after.target)
        if not missing:
            left = after.plan(user_input)
            if left.is_blocked or left.ops:
                raise MigrationError(f"another client is changing {connect}; run this command again after that")
            fit(directories, plan.kafka.version, plan.cluster_id, clock)
            registry = find_registry(directories)
            _check_complete(registry)
            files = LocalFileSystem()
            files.rename(registry, registry.with_name(RELEASED_REGISTRY_FILE))
            files.sync(registry.parent)
    return Released(plan, summarize(after.target), missing)


class _ReleaseState(NamedTuple):
    """The input of a release plan."""

    directories: list[DirectoryFacts]
    registry: TreeCopy
    target: TreeCopy

    def plan(self, user_input: ReleaseInput) -> ReleasePlan:
        plan = plan_release(*self, told_cluster_id=user_input.cluster_id)
        plan.kafka = target_of(user_input.kafka_version, noted_target(self.registry.nodes))
        return plan

    def checked_plan(self, user_input: ReleaseInput) -> ReleasePlan:
        """Make a plan, and check whether the Kafka version can read the logs; reads all logs for an old version."""
        plan = self.plan(user_input)
        if not plan.is_blocked:
            plan.findings += check_fit(self.directories, self.registry.nodes, plan.kafka.version)
        return plan


async def _look(
    directories: Sequence[Path], connect: str, clock: Clock, open_target: OpenTarget, *, is_locked: bool = False
) -> _ReleaseState:
    facts = [survey(path, finds_producers=False, is_locked=is_locked) for path in directories]
    ours = await read_registry(find_registry(directories), clock)
    return _ReleaseState(facts, ours, await read_target(connect, may_be_missing=True, open_target=open_target))


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
        raise MigrationError(
            f"{connect}: another client created {error.path} meanwhile; run this command again"
        ) from None
    except RegistryError as error:
        raise MigrationError(
            f"{connect} could not be written ({error}); run this command again to write the rest"
        ) from None


def _check_complete(registry: Path) -> None:
    """Check that SQLite copied the write-ahead log of a closed registry into its file; SQLite reports no failure.

    Raises:
        MigrationError: The log still exists.
    """
    if registry.with_name(f"{registry.name}-wal").exists():
        raise MigrationError(
            f"{registry} could not be completed from its write-ahead log, because the disk is full or failed: free "
            "space and run this command again"
        )


def _remove_database_logs(path: Path) -> None:
    files = LocalFileSystem()
    for suffix in ("-wal", "-shm", "-journal"):
        files.remove(path.with_name(path.name + suffix))
