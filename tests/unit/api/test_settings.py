"""Documented settings: both spellings, types and bounds, and what is refused."""

import os.path
from collections import OrderedDict

import pytest

from barnabas.api.settings import Declared, SettingsTable, load
from barnabas.core.config.properties import parse_properties
from barnabas.core.errors import ConfigError

TABLE = SettingsTable(
    "producer",
    (
        Declared("queue.buffering.max.ms", "int", 5_000, "", ("queue.time",), least=0),
        Declared("producer.type", "string", "sync", "", choices=("sync", "async")),
        Declared("compressed.topics", "list", "", ""),
        Declared("autocommit.enable", "boolean", True, ""),
        Declared("rate", "double", 0.5, ""),
        Declared("group.id", "string", None, "", ("groupid",)),
        Declared("serializer.class", "class", None, ""),
        Declared("fetch.wait", "int", None, "", refusal="a fetch never waits"),
    ),
)


def test_what_is_not_given_has_its_default() -> None:
    settings = TABLE.read({"group.id": None})
    assert settings.integer("queue.buffering.max.ms") == 5_000
    assert settings.text("producer.type") == "sync"
    assert settings.items("compressed.topics") == []
    assert settings.boolean("autocommit.enable") is True
    assert settings.number("rate") == 0.5
    assert settings.text("group.id") == ""
    assert settings.given_object("serializer.class") is None
    assert settings.given == frozenset()


def test_the_texts_of_a_properties_file_and_a_programs_values_are_the_same() -> None:
    text = "queue.time = 20\nautocommit.enable=FALSE\ncompressed.topics=a, b\nrate=2\ngroupid=7\n"
    values = {"queue.time": 20, "autocommit.enable": False, "compressed.topics": ["a", "b"], "rate": 2, "groupid": 7}
    for settings in (TABLE.read(parse_properties(text)[0]), TABLE.read(values)):
        assert settings.integer("queue.buffering.max.ms") == 20
        assert settings.boolean("autocommit.enable") is False
        assert settings.items("compressed.topics") == ["a", "b"]
        assert settings.number("rate") == 2.0
        assert settings.text("group.id") == "7"
        assert "group.id" in settings.given


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("queue.tme", "queue.time"),
        ("queue_time", "queue.time"),
        ("producer.typ", "producer.type"),
        ("group-id", "group.id"),
        ("ssl.trustore.location", "ssl.truststore.location"),
        ("security.protocl", "security.protocol"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is not a setting of the producer: did you mean {nearest}\\?"):
        TABLE.read({name: "1"})


def test_something_is_always_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        TABLE.read({"%": "1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("queue.time", "soon"),
        ("queue.time", -1),
        ("queue.time", 2**31),
        ("queue.time", True),
        ("producer.type", "both"),
        ("autocommit.enable", 1),
        ("compressed.topics", {"a"}),
        ("group.id", b"g"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_the_name_that_was_given(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"^{name}.*must be"):
        TABLE.read({name: value})


def test_two_names_of_one_setting_must_agree() -> None:
    assert TABLE.read({"queue.time": 7, "queue.buffering.max.ms": "7"}).integer("queue.buffering.max.ms") == 7
    with pytest.raises(ConfigError, match=r"queue\.time and queue\.buffering\.max\.ms .* disagree"):
        TABLE.read({"queue.time": 7, "queue.buffering.max.ms": "8"})


def test_what_is_documented_and_cannot_be_done_says_why() -> None:
    with pytest.raises(ConfigError, match=r"fetch\.wait is not supported: a fetch never waits"):
        TABLE.read({"fetch.wait": 1})


def test_security_settings_are_kept_as_text_and_never_shown() -> None:
    settings = TABLE.read({"security.protocol": "SSL ", "ssl.key.password": "hush"})
    assert settings.security == {"security.protocol": "SSL", "ssl.key.password": "hush"}
    assert "hush" not in repr(settings)


def test_a_name_is_declared_once() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        SettingsTable("x", (Declared("a", "int", 1, ""), Declared("b", "int", 1, "", ("a",))))


def test_a_class_is_a_dotted_path_a_known_name_or_the_object() -> None:
    assert load("serializer.class", "collections.OrderedDict", {}) is OrderedDict
    assert load("serializer.class", "os.path:join", {}) is os.path.join
    assert load("serializer.class", "kafka.serializer.DefaultEncoder", {"kafka.serializer.DefaultEncoder": int}) is int
    assert load("serializer.class", dict, {}) is dict


@pytest.mark.parametrize("path", ["Encoder", "no_such_module.Encoder", "collections.NoSuchName"])
def test_a_class_that_is_not_there_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=rf"^serializer\.class={path}: "):
        load("serializer.class", path, {})
