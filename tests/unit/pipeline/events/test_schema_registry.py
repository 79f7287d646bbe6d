"""Schemas by their ids: from a folder, from a registry, and from one that fails."""

import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from barnabas.core.errors import ConfigError
from barnabas.pipeline.events.schema_registry import NoSuchSchemaError, RegistryError, SchemaRegistry, registry_settings
from tests.registry import FakeRegistry

LOGIN = {"basic.auth.user.info": "ada:secret:1"}


def test_a_registry_is_asked_once_for_each_schema_with_the_login():
    with FakeRegistry() as server:
        server.put(7, "string")
        server.put(8, {"type": "object"}, schemaType="JSON")
        registry = SchemaRegistry(server.url, LOGIN)
        assert [tuple(registry.schema(each)) for each in (7, 8, 7)] == [
            ("AVRO", '"string"'),
            ("JSON", '{"type": "object"}'),
            ("AVRO", '"string"'),
        ]
        login = "Basic " + b64encode(b"ada:secret:1").decode()
        assert server.asked == [(7, login), (8, login)]
        SchemaRegistry(server.url.replace("//", "//bob:p%40ss@")).schema(7)
        assert server.asked[-1] == (7, "Basic " + b64encode(b"bob:p@ss").decode())
        assert "secret" not in repr(registry)


@pytest.mark.parametrize(
    "answer",
    [
        (200, "text/html", b"<html>please log in</html>"),
        (200, "application/json", b"[1]"),
        (200, "application/json", b"\xff"),
        (200, "application/json", b'{"schema": 7}'),
        (200, "application/json", b'{"id": 7}'),
        (200, "application/json", b"[" * 100_000),
        (200, "application/json", b" " * 11_000_000),
        (401, "application/json", b"{}"),
        (404, "text/html", b"not here"),
        (500, "application/json", b'{"error_code": 50001}'),
    ],
)
def test_what_is_no_answer_of_a_registry_tells_nothing_of_the_record(answer: tuple[int, str, bytes]):
    with FakeRegistry() as server:
        server.answers[7] = answer
        registry = SchemaRegistry(server.url)
        with pytest.raises(RegistryError, match="schema 7"):
            registry.schema(7)
        server.put(7, "string")
        assert registry.schema(7).text == '"string"'


def test_a_registry_that_hangs_or_is_away_is_given_up():
    with FakeRegistry() as server:
        server.hang.clear()
        with pytest.raises(RegistryError, match="does not answer: timed out"):
            SchemaRegistry(server.url, timeout_s=0.1).schema(7)
    with pytest.raises(RegistryError, match="refused"):
        SchemaRegistry(server.url).schema(7)


def test_an_unknown_id_and_a_schema_that_refers_to_others_are_told():
    with FakeRegistry() as server:
        registry = SchemaRegistry(server.url)
        with pytest.raises(NoSuchSchemaError, match="has no schema 7"):
            registry.schema(7)
        server.put(7, "string", references=[{"name": "a", "subject": "a", "version": 1}])
        with pytest.raises(NoSuchSchemaError, match="schema 7 refers to others"):
            registry.schema(7)


def test_a_folder_is_read_as_utf_8_whatever_the_locale(tmp_path: Path):
    (tmp_path / "1.avsc").write_text('{"type": "enum", "name": "größe", "symbols": []}', encoding="utf-8")
    code = "import sys; from barnabas.pipeline.events.schema_registry import SchemaRegistry as R"
    code += "; print(ascii(R(sys.argv[1]).schema(1).text))"
    env = os.environ | {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert r"gr\xf6\xdfe" in ended.stdout


def test_a_folder_has_a_file_for_each_schema(tmp_path: Path):
    (tmp_path / "1.avsc").write_text('"string"')
    (tmp_path / "2.json").write_text("{}")
    (tmp_path / "3.avsc").write_bytes(b"\xff")
    registry = SchemaRegistry(str(tmp_path))
    assert (registry.schema(1).kind, registry.schema(2).kind) == ("AVRO", "JSON")
    with pytest.raises(RegistryError, match="can't be read"):
        registry.schema(3)
    with pytest.raises(NoSuchSchemaError, match="has no schema 4"):
        registry.schema(4)


@pytest.mark.parametrize(
    ("place", "settings", "told"),
    [
        ("ftp://ada:secret@host/", {}, "must be http"),
        ("/no/such/folder", {}, "or a folder"),
        ("https://host", {"schema.registry.ssl.truststore.location": "/no/such.p12"}, "no/such.p12"),
    ],
)
def test_what_can_not_be_is_told_before_anything_starts(place: str, settings: dict[str, str], told: str):
    with pytest.raises(ConfigError, match=told) as error:
        SchemaRegistry(place, settings)
    assert "secret" not in str(error.value)


def test_the_registrys_settings_do_not_go_to_brokers():
    options = {**LOGIN, "schema.registry.ssl.endpoint.identification.algorithm": "", "client.id": "c"}
    own, brokers = registry_settings(options)
    assert brokers == {"client.id": "c"}
    assert own == {name: value for name, value in options.items() if name != "client.id"}
