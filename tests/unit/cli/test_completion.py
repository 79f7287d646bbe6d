"""What a shell is told to complete, and how it is told to ask."""

import subprocess
from pathlib import Path

import pytest

from barnabas.cli.commands import COMMANDS
from barnabas.cli.completion import LINE
from barnabas.cli.main import main


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/usr/bin/bash")
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("barnabas ", [name for name in COMMANDS if " " not in name]),
        ("barnabas trans", ["transactions"]),
        ("barnabas topics --desc", ["--describe"]),
        ("barnabas topics --describe --bo", ["--bootstrap-server"]),
        ("barnabas groups ", ["translate", "migrate"]),
        ("barnabas groups --reset", ["--reset-offsets"]),
        ("barnabas groups migrate --zoo", ["--zookeeper"]),
        ("barnabas transactions ha", ["hanging"]),
        ("barnabas transactions abort --start", ["--start-offset"]),
        ("barnabas perf con", ["consume"]),
        ("barnabas log verify --h", ["--headers-only", "--help"]),
        ("barnabas fly --h", []),
        ("barnabas pipeline --h", []),
    ],
)
def test_what_may_stand_there(typed, expected, capsys, monkeypatch):
    monkeypatch.setenv(LINE, typed)
    assert main([]) == 0
    out = capsys.readouterr().out
    assert [line.split("\t")[0] for line in out.splitlines()] == expected
    assert all(line.split("\t")[1] for line in out.splitlines())


def test_bash_is_told_once(home, capsys):
    (home / ".bashrc").write_text("alias x=y")
    for _ in range(2):
        assert main(["--install-completion"]) == 0
    script = home / ".bash_completions/barnabas.sh"
    assert (home / ".bashrc").read_text() == f"alias x=y\nsource '{script}'\n"
    assert main(["--show-completion"]) == 0
    assert capsys.readouterr().out == script.read_text()


def test_another_shell_can_be_named(home):
    assert main(["--install-completion", "fish"]) == 0
    assert main(["--install-completion", "zsh"]) == 0
    assert (home / ".config/fish/completions/barnabas.fish").exists()
    assert (home / ".zshrc").read_text() == f"\nsource '{home / '.zfunc/barnabas.zsh'}'\n"
    assert not (home / ".bashrc").exists()


def test_a_shell_that_is_not_known(home, capsys):
    assert main(["--show-completion", "tcsh"]) == 1
    assert capsys.readouterr().err == (
        "barnabas: tcsh is not supported: completion is available for bash, zsh, fish; name one of them\n"
    )


def test_bash_takes_the_words_alone(home, capsys):
    main(["--show-completion"])
    stub = "barnabas() { [ \"$_BARNABAS_COMPLETE\" = 'barnabas to' ] && printf 'topics\\tWhat they are.\\ntop\\t\\n'; }"
    asked = "COMP_LINE='barnabas topic' COMP_POINT=11; _barnabas; echo ${COMPREPLY[@]}"
    script = "\n".join([capsys.readouterr().out, stub, asked])
    assert subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout == "topics top\n"


def test_a_user_without_a_home_is_one_line(home, monkeypatch, capsys):
    def unknown(cls):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", classmethod(unknown))
    assert main(["--install-completion"]) == 1
    assert capsys.readouterr().err == "barnabas: this user has no home directory: set HOME\n"
