"""The file with Spark's classes: when the JVM writes it, when it uses it, and when it does without."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pyspark
import pytest

from barnabas.pipeline.spark import class_archive
from barnabas.pipeline.spark.class_archive import ClassArchive, archive_path
from tests.unit.pipeline.spark.test_java import fake_java


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # A virtual environment that belongs to somebody else.
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "none"))


def java_that_says(home: Path, mode: str) -> Path:
    fake_java(home, f"echo 'openjdk version \"17.0.1\"\nOpenJDK 64-Bit Server VM (build 17, {mode})' >&2")
    return home


def test_the_jvm_writes_the_file_once_and_the_next_one_uses_it(tmp_path: Path):
    home = java_that_says(tmp_path / "home", "mixed mode, sharing")
    assert ClassArchive.of(home, is_written=False).java_options() == ""
    first = ClassArchive.of(home, is_written=True)
    assert first.staging is not None
    assert first.java_options() == f'"-XX:ArchiveClassesAtExit={first.staging}" -Xlog:cds*=off'
    first.keep(is_whole=True)
    assert ClassArchive.of(home, is_written=True).is_missing, "the JVM has written nothing"
    first.staging.write_bytes(b"cl")
    first.keep(is_whole=False)
    assert not first.staging.exists(), "the JVM was killed while it wrote"
    first.staging.write_bytes(b"classes")
    first.keep(is_whole=True)
    for is_written in (True, False):
        second = ClassArchive.of(home, is_written=is_written)
        assert not second.is_missing
        assert second.java_options() == f'"-XX:SharedArchiveFile={first.path}" -Xlog:cds*=off'
    assert ClassArchive.of(java_that_says(tmp_path / "other", "mixed mode, sharing "), is_written=True).is_missing


def test_an_environment_that_is_reached_by_a_link_has_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = java_that_says(tmp_path / "home", "mixed mode, sharing")
    own = archive_path(home)
    link = tmp_path / "link"
    link.symlink_to(Path(pyspark.__file__).parents[1])
    monkeypatch.setattr(class_archive, "find_spec", lambda name: PathFinder.find_spec(name, [str(link)]))
    assert own is not None
    assert archive_path(home) == own


def test_a_jvm_that_failed_to_write_the_file_is_not_followed_by_another(tmp_path: Path):
    home = java_that_says(tmp_path / "home", "mixed mode, sharing")
    first = ClassArchive.of(home, is_written=True)
    first.begin()
    first.keep(is_whole=False)
    assert ClassArchive.of(home, is_written=True) == ClassArchive(None)


def test_a_java_without_an_archive_of_its_own_does_without(tmp_path: Path):
    assert ClassArchive.of(java_that_says(tmp_path, "mixed mode"), is_written=True).java_options() == ""


def test_a_file_that_the_user_names_is_left_to_him(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-XX:SharedArchiveFile=/own.jsa")
    home = java_that_says(tmp_path / "home", "mixed mode, sharing")
    assert ClassArchive.of(home, is_written=True) == ClassArchive(None)


def test_a_directory_that_others_can_write_is_not_used(tmp_path: Path):
    (tmp_path / "cache" / "barnabas").mkdir(parents=True)
    (tmp_path / "cache" / "barnabas").chmod(0o777)
    home = java_that_says(tmp_path / "home", "mixed mode, sharing")
    assert ClassArchive.of(home, is_written=True) == ClassArchive(None)
