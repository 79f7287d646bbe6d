"""Finding a Java for Spark, and the wrapper around the one from PyPI."""

import subprocess
from pathlib import Path

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
