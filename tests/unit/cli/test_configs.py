"""`barnabas configs`: how changes are written on a command line, and a client's settings in a file."""

import pytest

from barnabas.cli.configs import _changes
from barnabas.cli.connection import ClientSettings, client_settings
from barnabas.clients.admin_configs import ConfigChange, ConfigOperation
from barnabas.core.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a=1,b=2", {"a": "1", "b": "2"}),
        ("a=[1,2],b=", {"a": "1,2", "b": ""}),
        ("a=x=y, b = [z]", {"a": "x=y", "b": "z"}),
        ("listeners=[A://:1,B://:2]", {"listeners": "A://:1,B://:2"}),
    ],
)
def test_values_with_commas_stand_in_brackets(text, expected):
    changes = [ConfigChange(name, ConfigOperation.SET, value) for name, value in expected.items()]
    assert _changes([text], None, []) == changes


def test_options_may_be_repeated():
    assert [change.name for change in _changes(["a=1", "b=2"], None, ["c,d", "e", "c"])] == ["a", "b", "c", "d", "e"]


def test_a_clients_settings(tmp_path, capsys):
    file = tmp_path / "client.properties"
    file.write_text("client.id=me\nrequest.timeout.ms=7000\nsecurity.protocol=plaintext\nlinger.ms=5\n")
    assert client_settings("tool", str(file), None) == ClientSettings("me", 7000)
    assert capsys.readouterr().err == f"{file}: these properties have no effect here: linger.ms\n"
    assert client_settings("tool", str(file), 9) == ClientSettings("me", 9)
    assert client_settings("tool", None, None) == ClientSettings("tool", 30_000)
    file.write_text("client.id=me \nrequest.timeout.ms=7000 \nsecurity.protocol=plaintext \n")
    assert client_settings("tool", str(file), None) == ClientSettings("me", 7000)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "security.protocol=SASL_SSL",
            ": sasl.mechanism=GSSAPI is not supported: use one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER",
        ),
        ("default.api.timeout.ms=soon", ":2: default.api.timeout.ms=soon must be a number of milliseconds"),
    ],
)
def test_a_clients_settings_that_cannot_be(tmp_path, line, complaint):
    file = tmp_path / "client.properties"
    file.write_text(f"# a client\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        client_settings("tool", str(file), None)
    assert str(caught.value) == f"{file}{complaint}"
