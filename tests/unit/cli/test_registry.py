import asyncio
import os
import stat
import threading
from errno import EBUSY
from pathlib import Path

import pytest

from barnabas.broker.registry.embedded import REGISTRY_FILE, EmbeddedRegistry
from barnabas.cli.registry import export
from barnabas.core.clock import SystemClock
from barnabas.core.errors import BarnabasError
from barnabas.core.executor import InlineExecutor
from barnabas.migration.transfer import decode_document
from barnabas.wire.registry.bootstrap import create_with_parents


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory of a stopped broker."""
    path = tmp_path / "data"

    async def make() -> None:
        registry = await EmbeddedRegistry.open(path / REGISTRY_FILE, SystemClock(), InlineExecutor())
        await create_with_parents(registry, "/cluster/id", b'{"version":"1","id":"AAAAAAAAAAAAAAAAAAAAAA"}')
        await registry.close()

    asyncio.run(make())
    return path


@pytest.mark.parametrize("mode", [None, 0o644, 0o666, 0o600])
def test_only_the_owner_can_read_an_export(data: Path, tmp_path: Path, mode: int | None) -> None:
    file, other = tmp_path / "state.json", tmp_path / "link"
    if mode is not None:
        file.write_text("before")
        file.chmod(mode)
        # Whoever opened the file before does not see what is written later.
        os.link(file, other)
    export(file, data)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert decode_document(file.read_text()).nodes
    assert mode is None or other.read_text() == "before"
    assert {each.name for each in tmp_path.iterdir()} <= {"data", "state.json", "link"}


def test_an_export_to_a_link_replaces_the_file_that_it_names(data: Path, tmp_path: Path) -> None:
    file, link = tmp_path / "state.json", tmp_path / "link"
    file.write_text("before")
    link.symlink_to(file)
    export(link, data)
    assert (link.is_symlink(), stat.S_IMODE(file.stat().st_mode)) == (True, 0o600)
    assert decode_document(file.read_text()).nodes


def test_an_export_to_a_pipe_is_written_to_it(data: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    export(pipe, data)
    reader.join()
    assert decode_document(read[0]).nodes
    assert pipe.is_fifo()


def test_an_export_to_standard_output_is_written_to_its_pipe(data: Path) -> None:
    reading, writing = os.pipe()
    export(Path(f"/proc/self/fd/{writing}"), data)
    os.close(writing)
    with open(reading) as file:
        assert decode_document(file.read()).nodes


def test_a_file_beside_which_no_other_can_be_made_is_overwritten(data: Path, tmp_path: Path) -> None:
    # With so long a name, a temporary file cannot be named after it.
    file = tmp_path / ("x" * 250)
    file.write_text("before" * 1_000)
    file.chmod(0o644)
    export(file, data)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert decode_document(file.read_text()).nodes


def test_a_file_that_is_a_mount_is_overwritten(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: Path) -> None:
        raise OSError(EBUSY, "Device or resource busy")

    file = tmp_path / "state.json"
    file.write_text("before")
    monkeypatch.setattr(os, "replace", refuse)
    export(file, data)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert decode_document(file.read_text()).nodes
    assert {each.name for each in tmp_path.iterdir()} == {"data", "state.json"}


def test_an_export_that_fails_names_its_file(data: Path, tmp_path: Path) -> None:
    with pytest.raises(BarnabasError, match=str(tmp_path / "none" / "state.json")):
        export(tmp_path / "none" / "state.json", data)
