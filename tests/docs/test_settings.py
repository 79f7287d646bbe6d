"""What docs/configs.md says of a setting is what the code does: the code is read for the settings that it reads.

A setting is read where something that is called `config` or `_config` is asked for its attribute, outside of
`core/config` itself, or for one of the authorizer's by its name. What `core/config` makes of settings (which of several
names wins, where to listen) counts where it is made, not where values are merely checked.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from barnabas.core.config.broker import BrokerConfig
from barnabas.core.config.classes import CLASS_SETTINGS
from barnabas.core.config.settings import AUTHORIZER_SETTINGS, BROKER_SETTINGS, TOPIC_SETTINGS, attribute_name
from barnabas.core.config.support import (
    HONOURED,
    PARTLY_HONOURED,
    REFUSED,
    WITHOUT_EFFECT,
    WORKS,
    startup_warnings,
    status,
)
from barnabas.core.config.tables import PRECEDENCE
from barnabas.core.errors import InvalidSettingsError

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/barnabas"
CONFIG = PACKAGE / "core/config"
CHECKS = "_check_together"

# Their whole meaning is that another setting's value is refused.
HONOURED_BY_A_CHECK = {"broker.id.generation.enable"}


# What reads settings of a listener by their names.
READ_BY_NAME = (PACKAGE / "wire/security/tls/settings.py", PACKAGE / "broker/server/listener_tls.py")


def constants(path: Path) -> set[str]:
    """The texts in a module."""
    nodes = (node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Constant))
    return {value for value in nodes if isinstance(value, str)}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def is_config(node: ast.expr) -> bool:
    """`config`, `self._config`, `log.config`, `self._topic_config(topic)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in ("config", "_config")
        case ast.Call(func=ast.Attribute(attr=name)):
            return name == "_topic_config"
    return False


def attributes_read(node: ast.AST) -> Iterator[str]:
    """The attributes of configurations that are read below a node, but for functions that only check."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and child.name == CHECKS:
            continue
        if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Load) and is_config(child.value):
            yield child.attr
        yield from attributes_read(child)


@cache
def modules() -> list[Path]:
    """All that may read settings but `core/config`: what reads one has the word."""
    generated = PACKAGE / "wire/protocol/messages"
    paths = (path for path in PACKAGE.rglob("*.py") if CONFIG not in path.parents and generated not in path.parents)
    return [path for path in paths if "config" in path.read_text() or "of_authorizer" in path.read_text()]


@cache
def read_outside() -> frozenset[str]:
    return frozenset(name for path in modules() for name in attributes_read(tree(path)))


def authorizer_settings_read() -> frozenset[str]:
    """What is asked of `config.of_authorizer`."""
    return frozenset(
        str(node.args[0].value)
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "of_authorizer"
        if isinstance(node.args[0], ast.Constant)
    )


@cache
def topic_settings_read() -> frozenset[str]:
    return frozenset(name for name in TOPIC_SETTINGS if attribute_name(name) in read_outside())


@cache
def broker_settings_read() -> frozenset[str]:
    """The broker's settings on which something depends."""
    made = {name for path in (CONFIG / "broker.py", CONFIG / "listeners.py") for name in attributes_read(tree(path))}
    made |= {attribute_name(name) for path in READ_BY_NAME for name in constants(path)}
    read = {name for name in BROKER_SETTINGS if attribute_name(name) in read_outside() | made}
    read |= {TOPIC_SETTINGS[name].extra for name in topic_settings_read()} & BROKER_SETTINGS.keys()
    for winner, names in PRECEDENCE.items():
        if winner in read:
            read.update(names)
    return frozenset(read) | authorizer_settings_read()


def test_every_setting_has_one_status() -> None:
    statuses = (HONOURED, PARTLY_HONOURED.keys(), WITHOUT_EFFECT, REFUSED.keys())
    told = [name for status in statuses for name in status]
    assert sorted(set(told)) == sorted(told)
    assert set(told) == BROKER_SETTINGS.keys() | AUTHORIZER_SETTINGS.keys()


def test_what_is_said_to_work_is_read() -> None:
    assert (HONOURED | PARTLY_HONOURED.keys()) - broker_settings_read() == HONOURED_BY_A_CHECK


def test_what_is_read_is_said_to_work() -> None:
    assert broker_settings_read() - HONOURED - PARTLY_HONOURED.keys() == frozenset()


def test_a_start_does_not_call_ignored_what_is_read() -> None:
    config = BrokerConfig.single_broker({"zookeeper.connect": "127.0.0.1:1"})
    config.given = broker_settings_read() | AUTHORIZER_SETTINGS.keys()
    assert startup_warnings(config) == []
    assert {status(name) for name in AUTHORIZER_SETTINGS} == {WORKS}


def test_a_start_calls_a_listeners_setting_what_it_calls_the_one_for_all() -> None:
    config = BrokerConfig.single_broker()
    config.given = frozenset(
        f"listener.name.plaintext.{name}" for name in WITHOUT_EFFECT | HONOURED if name.startswith("ssl.")
    )
    (warning,) = startup_warnings(config)
    assert warning.startswith("without effect here: listener.name.plaintext.ssl.keymanager.algorithm, ")


def test_a_start_tells_which_settings_no_listener_reads() -> None:
    config = BrokerConfig.from_properties({"listeners": "SASL_SSL://:1", "security.inter.broker.protocol": "SASL_SSL"})
    config.given = frozenset({"listener.name.sasl_ssl.ssl.client.auth", "listener.name.tls.ssl.client.auth"})
    assert startup_warnings(config) == [
        "no listener of the file reads listener.name.sasl_ssl.ssl.client.auth: SASL clients need no certificate",
        "no listener of the file reads listener.name.tls.ssl.client.auth: the listeners are sasl_ssl",
    ]


def test_all_topic_settings_are_read() -> None:
    assert TOPIC_SETTINGS.keys() - topic_settings_read() == frozenset()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_called_refused_stops_a_start(name: str) -> None:
    for each in (name, f"listener.name.plaintext.{name}"):
        with pytest.raises(InvalidSettingsError) as caught:
            BrokerConfig.from_properties({each: "com.example.Own"}, {each: 1})
        (problem,) = caught.value.problems
        assert problem.startswith(f"server.properties:1: {each}=com.example.Own: Java classes are not supported; ")


@pytest.mark.parametrize("name", sorted(name for name, setting in CLASS_SETTINGS.items() if setting.accepted))
def test_kafkas_own_classes_are_taken(name: str) -> None:
    for accepted in CLASS_SETTINGS[name].accepted:
        assert BrokerConfig.from_properties({name: accepted}).text(name) == accepted


def test_every_setting_that_names_a_class_is_judged_by_it() -> None:
    named = {name for name, each in BROKER_SETTINGS.items() if each.type == "class"}
    named |= {name for name in BROKER_SETTINGS if name.endswith((".class", ".class.name", ".providers"))}
    assert named == CLASS_SETTINGS.keys()


def test_no_value_is_cut_to_a_bound_that_the_table_does_not_show() -> None:
    """`min(config.x, 4)` takes 5 without a word; a bound belongs to the setting, where it is told and checked."""
    cut = []
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
                is_bound = any(isinstance(each, ast.Constant) or _is_constant(each) for each in node.args)
                settings = [
                    each.attr for each in node.args if isinstance(each, ast.Attribute) and is_config(each.value)
                ]
                if is_bound and settings:
                    cut.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert cut == []


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id.lstrip("_").isupper()


def test_the_document_shows_what_the_code_says() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|.*\| ([^|]*) \|$", (ROOT / "docs/configs.md").read_text(), re.MULTILINE)
    broker = [(name, status) for name, status in rows if name in BROKER_SETTINGS][: len(BROKER_SETTINGS)]
    assert {name for name, status in broker if status == "works"} == HONOURED & BROKER_SETTINGS.keys()
    assert {name: status for name, status in broker if status.startswith("works ")} == PARTLY_HONOURED
    assert {name: status for name, status in broker if status.startswith("refused")} == REFUSED
