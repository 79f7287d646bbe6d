"""What a broker and its commands write is their user's alone, and secrets that are everybody's are told."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.broker.server.private_files import exposed_secrets
from barnabas.core.config import BrokerConfig
from tests.integration.test_start_stop import produce, running
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("everybody_may_read")


@pytest.fixture
def everybody_may_read() -> Iterator[None]:
    """The umask that most systems have."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that every user of the machine can come to; pytest's own are not."""
    directory = Path(tempfile.mkdtemp(prefix="barnabas-test-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


def open_to_others(directory: Path) -> list[str]:
    return [str(path) for path in (directory, *directory.rglob("*")) if path.stat().st_mode & 0o077]


def barnabas(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", *map(str, arguments)],
        input="secret\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done
    return done.stderr


def test_a_broker_writes_for_its_own_user(public: Path) -> None:
    data = public / "data"
    with running("--port", 0, "--data-dir", data) as broker:
        produce(broker.bootstrap_servers, "t", 3)
        assert (data / "registry.sqlite-wal").exists()
        assert open_to_others(data) == []
        broker.stop()
    assert open_to_others(data) == []


def test_a_registry_that_a_command_makes_is_private(public: Path) -> None:
    barnabas("users", "add", "--user", "alice", "--password-file", "-", "--log-dir", public)
    registry = public / "registry.sqlite"
    assert stat.S_IMODE(registry.stat().st_mode) == 0o600
    registry.unlink()
    (public / "meta.properties").write_text("version=0\nbroker.id=0\ncluster.id=abc\n")
    (public / "t-0").mkdir()
    barnabas("adopt", public, "--execute")
    assert stat.S_IMODE(registry.stat().st_mode) == 0o600


def test_what_kafka_made_keeps_its_mode(public: Path) -> None:
    meta = public / "meta.properties"
    checkpoint = public / "replication-offset-checkpoint"
    with running("--port", 0, "--data-dir", public) as broker:
        broker.stop()
    for path in (meta, checkpoint):
        path.chmod(0o640)
    # Without the cluster's id the file is written again.
    meta.write_text("version=0\nbroker.id=0\n")
    with running("--port", 0, "--data-dir", public) as broker:
        produce(broker.bootstrap_servers, "t", 3)
        broker.stop()
    assert "cluster.id=" in meta.read_text()
    assert "t 0 3" in checkpoint.read_text()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (meta, checkpoint)] == [0o640, 0o640]


def exposed(settings: Path) -> list[Path]:
    return exposed_secrets(BrokerConfig.from_file(str(settings)), str(settings))


def test_secrets_that_everybody_can_read_are_found(public: Path) -> None:
    registry, keys, jaas, settings = (
        public / name for name in ("registry.sqlite", "keys.p12", "jaas.conf", "server.properties")
    )
    settings.write_text(
        f"log.dirs={public}\nbarnabas.jaas.config.file={jaas}\nlistener.name.plaintext.ssl.keystore.location={keys}\n"
    )
    for path in (registry, keys, jaas):
        path.touch(mode=0o644)
    assert exposed(settings) == [registry, keys, jaas], "the settings hold no password"
    settings.write_text(settings.read_text() + "delegation.token.master.key=secret\n")
    assert exposed(settings) == [registry, keys, jaas, settings]
    for path in (registry, keys, jaas, settings):
        path.chmod(0o640)
    assert exposed(settings) == []
    for path in (registry, keys, jaas, settings):
        path.chmod(0o646)
    public.chmod(0o750)
    assert exposed(settings) == [], "nobody else comes near"


def test_a_start_tells_of_them_with_the_command_that_ends_it(public: Path) -> None:
    registry = public / "registry.sqlite"
    with running("--port", 0, "--data-dir", public) as broker:
        registry.chmod(0o644)
        # It meets the lock, after it has told.
        second = [sys.executable, "-m", "barnabas.broker.server", "--log-level", "warning", "--port", "0"]
        second += ["--data-dir", str(public)]
        told = subprocess.run(second, capture_output=True, text=True, timeout=PATIENCE_S).stderr
        broker.stop()
    assert f"secrets in {registry}: run chmod o-rwx {registry}" in told
