"""Client properties of `produce` and `consume`: which source wins, and what is said of names without an effect."""

import pytest

from barnabas.cli.client_properties import ClientProperties
from barnabas.cli.mirror import _cluster
from barnabas.core.errors import BarnabasError, ConfigError

LEVELS = {"read_uncommitted": False, "read_committed": True}


def properties(tmp_path, text, *given):
    path = tmp_path / "client.properties"
    path.write_text(text)
    return ClientProperties(str(path), given, "--consumer-property")


def test_an_own_option_wins_over_a_property_and_that_over_the_file(tmp_path):
    client = properties(tmp_path, "fetch.min.bytes=1\nfetch.max.bytes=1\nsession.timeout.ms=1\n", "fetch.max.bytes=2")
    assert client.number("fetch.min.bytes", None, 9) == 1
    assert client.number("fetch.max.bytes", None, 9) == 2
    assert client.number("session.timeout.ms", 3, 9) == 3
    assert client.number("max.poll.records", None, 9) == 9


def test_the_isolation_level_of_a_file_is_honoured(tmp_path):
    for given, expected in ((None, True), ("read_uncommitted", False)):
        client = properties(tmp_path, "isolation.level=read_committed\n")
        option = ("--isolation-level", given)
        assert client.choice("isolation.level", option, "read_uncommitted", LEVELS) is expected


def test_a_bad_value_is_named_with_its_place(tmp_path):
    client = properties(tmp_path, "# a comment\nfetch.min.bytes=many\n", "enable.auto.commit=no")
    with pytest.raises(BarnabasError, match=r"client.properties:2: fetch.min.bytes=many: must be a number from 0 to"):
        client.number("fetch.min.bytes", None, 9)
    with pytest.raises(BarnabasError, match=r"--consumer-property enable\.auto\.commit=no: must be one of true, false"):
        client.flag("enable.auto.commit", True)


def test_security_comes_from_both_sources(tmp_path):
    client = properties(tmp_path, "security.protocol=SSL\n", "security.protocol=plaintext")
    assert client.security() is None
    assert properties(tmp_path, "security.protocol=SSL \n", "security.protocol=plaintext ").security() is None
    with pytest.raises(ConfigError, match="TELNET"):
        properties(tmp_path, "", "security.protocol=telnet").security()


def test_white_space_around_a_mirrors_properties_is_ignored(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("client.id=me \nsecurity.protocol=plaintext \n")
    assert _cluster("h:1", [str(file)]).options == {"client.id": "me", "security.protocol": "plaintext"}


def test_properties_without_effect_are_named_in_one_line(tmp_path, capsys):
    client = properties(tmp_path, "interceptor.classes=a.B\nclient.id=me\n", "fetch.min.byte=1")
    assert client.text("client.id", "x") == "me"
    client.number("fetch.min.bytes", None, 1)
    client.note_unused()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "interceptor.classes" in said
    assert "fetch.min.byte; did you mean fetch.min.bytes" in said
    assert "client.id" not in said
