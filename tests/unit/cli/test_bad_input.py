"""Files and standard input with invalid contents: one line that names the cause."""

import io
import logging
import sys
from pathlib import Path

import pytest

from barnabas.cli.acls import _ask
from barnabas.cli.groups_reset import _read_file
from barnabas.cli.main import main
from barnabas.cli.perf import _payloads
from barnabas.cli.users import _password
from barnabas.core.errors import BarnabasError, StartupError
from barnabas.core.types import TopicPartition


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
@pytest.mark.parametrize("name", ["file", "-", None])
def test_a_password_must_be_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, errors: str, name: str | None):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), "utf-8", errors))
    file = tmp_path / "password"
    file.write_bytes(b"caf\xe9\n")
    with pytest.raises(BarnabasError, match="must be UTF-8"):
        _password(str(file) if name == "file" else name)


def test_a_password_is_the_first_line(tmp_path: Path):
    file = tmp_path / "password"
    file.write_text("café\r\nmore\n", encoding="utf-8")
    assert _password(str(file)) == "café"


@pytest.mark.parametrize("delimiter", ["", "\\", "\\x", "\\ud800"])
def test_a_delimiter_of_payloads_must_be_text(tmp_path: Path, delimiter: str):
    file = tmp_path / "payloads"
    file.write_text("a,b")
    with pytest.raises(BarnabasError, match="--payload-delimiter"):
        _payloads(None, file, delimiter)


@pytest.mark.parametrize(("delimiter", "text"), [("\\n", "a\nb\n"), (",", "a,b"), ("é", "aéb"), ("→\\t", "a→\tb")])
def test_payloads_are_divided_by_the_delimiter(tmp_path: Path, delimiter: str, text: str):
    file = tmp_path / "payloads"
    file.write_text(text, encoding="utf-8")
    assert _payloads(None, file, delimiter) == [b"a", b"b"]


@pytest.mark.parametrize("line", ["x" * 200_000 + ",0,1", "t,0," + "9" * 5_000, "t,0", "t,zero,1", "g,t,0,1,2", ""])
def test_offsets_of_a_file_name_the_line_that_is_none(tmp_path: Path, line: str):
    file = tmp_path / "offsets.csv"
    file.write_text(f"t,0,5\n{line}\n")
    with pytest.raises(BarnabasError, match=r"offsets\.csv:2: must have the form topic,partition,offset"):
        _read_file(str(file), "g")


def test_offsets_of_a_file_are_those_of_the_group(tmp_path: Path):
    file = tmp_path / "offsets.csv"
    file.write_text("t,0,5\ng,t,1,6\nother,t,2,7\n")
    assert _read_file(str(file), "g") == {TopicPartition("t", 0): 5, TopicPartition("t", 1): 6}


def test_without_standard_input_nothing_can_be_imported_or_confirmed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["registry", "import", "-", "--log-dir", "none"]) == 1
    assert "standard input is closed" in capsys.readouterr().err
    with pytest.raises(BarnabasError, match="add --force"):
        _ask({})


@pytest.mark.parametrize(
    ("topics", "reason"), [("views,/(/", "/(/ is not a valid regular expression: missing )"), (",", "no topic given")]
)
def test_topics_of_a_mirror_must_be_names_or_patterns(capsys: pytest.CaptureFixture[str], topics: str, reason: str):
    clusters = ["--source", "127.0.0.1:1", "--target", "127.0.0.1:1"]
    assert main(["mirror", *clusters, "--topics", topics, "--once", "--give-up", "1"]) == 1
    assert reason in capsys.readouterr().err


def test_users_of_a_zookeeper_that_is_down_fail_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
):
    async def open_none(connect: str):
        logging.getLogger("barnabas.clients.zookeeper.kazoo").warning("Connection dropped")
        raise StartupError(f"no ZooKeeper answers at {connect}")

    logging.getLogger("barnabas.clients.zookeeper").setLevel(logging.NOTSET)
    monkeypatch.setattr("barnabas.migration.open_registry.open_zookeeper", open_none)
    assert main(["users", "list", "--zookeeper", "localhost:2"]) == 1
    assert capsys.readouterr().err == "barnabas users list: no ZooKeeper answers at localhost:2\n"
    assert not caplog.records
