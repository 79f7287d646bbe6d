"""The demo's directory: one run at a time, begun whole or not at all, and nobody else's files are touched."""

from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.pipeline.demo.directory import (
    CLEARING,
    COMPLETE,
    RUNNING,
    DemoDirectory,
    DemoDirectoryError,
    Run,
    digest_of,
)

RUN = Run(RUNNING, "access.log", "digest")


@pytest.fixture
def directory(tmp_path: Path) -> DemoDirectory:
    made = DemoDirectory(tmp_path / "demo")
    made.root.mkdir()
    return made


def test_new_directory_holds_no_run(directory: DemoDirectory):
    assert directory.load() is None


def test_run_reads_back(directory: DemoDirectory):
    directory.begin(RUN)
    assert directory.load() == RUN
    directory.save(replace(RUN, state=COMPLETE))
    assert directory.load() == replace(RUN, state=COMPLETE)


def test_beginning_clears_the_run_before_and_nothing_else(directory: DemoDirectory):
    directory.begin(RUN)
    (directory.tables / "part.parquet").write_text("old")
    directory.summary.write_text("old")
    directory.broker.mkdir()
    note = directory.root / "note.txt"
    note.write_text("mine")
    directory.begin(replace(RUN, digest="other"))
    assert list(directory.tables.iterdir()) == []
    assert not directory.summary.exists()
    assert not directory.broker.exists()
    assert note.read_text() == "mine"


def test_kill_while_clearing_leaves_no_run_to_go_on_from(directory: DemoDirectory, monkeypatch: pytest.MonkeyPatch):
    directory.begin(RUN)
    (directory.root / "broker").mkdir()

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            directory.begin(RUN)
    left = directory.load()
    assert left is not None
    assert left.state == CLEARING
    directory.begin(RUN)
    assert directory.load() == RUN


def test_somebody_elses_directory_is_left_alone(directory: DemoDirectory):
    (directory.root / "broker").mkdir()
    with pytest.raises(DemoDirectoryError, match="give another --directory"):
        directory.begin(RUN)
    assert (directory.root / "broker").is_dir()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"state": "running", "more": 1}'])
def test_somebody_elses_run_file_is_refused(directory: DemoDirectory, content: str):
    (directory.root / "run.json").write_text(content)
    with pytest.raises(DemoDirectoryError, match="is not the demo's"):
        directory.load()


def test_second_demo_is_kept_out(directory: DemoDirectory):
    another = DemoDirectory(directory.root)
    with directory.lock(), pytest.raises(DemoDirectoryError, match="another demo runs"), another.lock():
        pass
    with DemoDirectory(directory.root).lock():
        pass


def test_digest_tells_logs_apart(tmp_path: Path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    assert digest_of(tmp_path / "a") != digest_of(tmp_path / "b")
