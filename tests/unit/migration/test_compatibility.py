"""A directory that goes back to an old Kafka: what is noted, refused and left out."""

import asyncio
import os
from pathlib import Path

import pytest

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.core.config.versions import kafka_version
from barnabas.core.errors import ConfigError
from barnabas.migration import apply
from barnabas.migration.compatibility import check_fit, fit, noted_target
from barnabas.migration.directories import survey
from barnabas.migration.findings import Kind
from barnabas.migration.kafka_versions import Target
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.registry import paths
from tests.unit.migration.trees import texts

OLD = kafka_version("0.10.2")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """As 0.10.2 leaves it."""
    LogDirectory(LocalFileSystem(), tmp_path).write_identity(7, None, 0)
    (tmp_path / "t-0").mkdir()
    for suffix in ("log", "timeindex"):
        (tmp_path / "t-0" / f"{0:020}.{suffix}").touch()
    return tmp_path


def snapshot(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


def adopted_target(data_dir: Path, told: str | None) -> Target | None:
    work = apply.adopt([data_dir], None, ManualClock(), allows_missing=False, kafka_version=told)
    plan = asyncio.run(work)
    assert not plan.is_blocked
    registry = asyncio.run(apply.read_registry(apply.find_registry([data_dir]), ManualClock()))
    assert noted_target(registry.nodes) == plan.target
    assert paths.KAFKA_VERSION not in plan.nodes
    return plan.target


def test_the_registry_keeps_what_was_found_out(data_dir: Path) -> None:
    assert adopted_target(data_dir, None) == Target(kafka_version("0.10.1-IV0"), "t-0 has a time index")


def test_the_registry_keeps_what_was_told(data_dir: Path) -> None:
    assert adopted_target(data_dir, "0.10.2") == Target(OLD, "--kafka-version")


def test_a_version_that_there_is_not_is_refused(data_dir: Path) -> None:
    with pytest.raises(ConfigError, match=r"3\.9 is not a Kafka version"):
        adopted_target(data_dir, "3.9")


def test_a_look_at_what_does_not_fit_changes_nothing(data_dir: Path) -> None:
    builder = BatchBuilder()
    builder.append(0, b"key", b"value")
    (data_dir / "t-0" / f"{0:020}.log").write_bytes(builder.build())
    (data_dir / "log-start-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    before = snapshot(data_dir)
    facts = [survey(data_dir, finds_producers=False)]
    findings = check_fit(facts, {}, OLD)
    assert texts(findings, Kind.BLOCKED) == [
        "t-0: offset 0 is a batch of format 2, which Kafka 0.10.2 can't read: release to 0.11.0 or later "
        "(--kafka-version)"
    ]
    assert len(texts(findings, Kind.LIMITED)) == 1
    assert check_fit(facts, {}, kafka_version("0.11.0")) == []
    assert snapshot(data_dir) == before


@pytest.mark.parametrize(
    ("version", "has_cluster_id", "has_log_starts"),
    [("0.10.2", False, False), ("0.11.0", False, True), ("2.3", False, True), ("2.4", True, True), ("2.7", True, True)],
)
def test_what_a_kafka_has_not_does_not_go_back_with_the_directory(
    data_dir: Path, version: str, has_cluster_id: bool, has_log_starts: bool
) -> None:
    directory = LogDirectory(LocalFileSystem(), data_dir)
    directory.write_identity(7, "c" * 22, 0)
    directory.make_checkpoints()
    for _ in range(2):
        fit([data_dir], kafka_version(version), "c" * 22, ManualClock())
        identity = directory.identity()
        assert identity is not None
        assert (identity.broker_id, identity.cluster_id) == (7, "c" * 22 if has_cluster_id else None)
        assert (data_dir / "log-start-offset-checkpoint").exists() == has_log_starts
    assert {"recovery-point-offset-checkpoint", "meta.properties"} <= set(os.listdir(data_dir))


@pytest.mark.parametrize(("version", "cluster_id"), [("2.3", None), ("2.4", "d" * 22)])
def test_the_directory_gets_the_cluster_id_of_its_tree(data_dir: Path, version: str, cluster_id: str | None) -> None:
    directory = LogDirectory(LocalFileSystem(), data_dir)
    fit([data_dir], kafka_version(version), "d" * 22, ManualClock())
    assert directory.identity() == (7, None)
    directory.write_identity(7, "c" * 22, 0)
    fit([data_dir], kafka_version(version), "d" * 22, ManualClock())
    assert directory.identity() == (7, cluster_id)
