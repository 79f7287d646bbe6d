"""Generates the tables of settings: `core/config/tables.py` and the tables in `docs/configs.md`.

Reads `schemas/configs.json` (Kafka 2.7.2's settings) and `schemas/barnabas-configs.json` (Barnabas's own). The rows are
plain tuples of constants, so that an import costs only an unmarshal. The generated classes have a typed attribute for
every setting.

Run as `python -m tools.codegen.configs`; part of `scripts/generate`.

Source: schemas/configs.json.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from barnabas.core.config.broker import SINGLE_BROKER_PROPERTIES
from barnabas.core.config.documentation import TEXTS
from barnabas.core.config.settings import Setting, allowed, format_value
from barnabas.core.config.support import status

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "src/barnabas/core/config/tables.py"
DOCUMENT = ROOT / "docs/configs.md"

Json = dict[str, object]

_PYTHON_TYPES = {
    "boolean": "bool",
    "int": "int",
    "short": "int",
    "long": "int",
    "double": "float",
    "list": "list[str]",
    "string": "str",
    "class": "str",
    "password": "str",
}

# Attributes whose value results from a precedence (log.retention.ms over minutes over hours), not from one setting.
_EFFECTIVE_TYPES = {
    "log.dirs": "list[str]",
    "log.flush.interval.ms": "int",
    "log.retention.ms": "int",
    "log.roll.jitter.ms": "int",
    "log.roll.ms": "int",
}

_HEAD = '''"""Generated from schemas/configs.json and schemas/barnabas-configs.json by scripts/generate: all settings.

A row is (name, type, default, least value, greatest value, choices, importance, update mode or server default).

Source: schemas/configs.json.
"""

from typing import TYPE_CHECKING

Row = tuple[
    str, str, str | int | float | bool | None, float | None, float | None, tuple[str, ...] | None, str, str
]

'''


def _bounds(valid: str | None) -> tuple[float | None, float | None, tuple[str, ...] | None]:
    """Split Kafka's notation (`[1,...]`, `[0,...,1]`, `[a, b]`) into least, greatest and choices."""
    if not valid or not valid.startswith("["):
        return None, None, None
    if valid.startswith("[partitionId]"):
        return None, None, ("throttled-replicas",)
    if valid.startswith("[0.8.0,"):
        return None, None, tuple(valid[1:-1].split(", "))
    if match := re.fullmatch(r"\[(-?\d+),\.\.\.(?:,(\d+))?\]", valid):
        return int(match[1]), int(match[2]) if match[2] else None, None
    return None, None, tuple(valid[1:-1].split(", "))


def _row(entry: Json) -> tuple[object, ...]:
    default = None if entry["default"] == "<required>" else entry["default"]
    least, greatest, choices = _bounds(str(entry["valid"]) if "valid" in entry else None)
    extra = entry.get("serverDefault", entry.get("update", ""))
    return (entry["name"], entry["type"], default, least, greatest, choices, entry["importance"], extra)


def _attribute(name: str) -> str:
    return name.replace(".", "_").lower()


def _annotation(entry: Json) -> str:
    name = str(entry["name"])
    if name in _EFFECTIVE_TYPES:
        return _EFFECTIVE_TYPES[name]
    annotation = _PYTHON_TYPES[str(entry["type"])]
    return f"{annotation} | None" if entry["default"] in (None, "<required>") else annotation


def _fields_class(name: str, doc: str, entries: list[Json]) -> str:
    slots = "".join(f"        {slot!r},\n" for slot in sorted(_attribute(str(entry["name"])) for entry in entries))
    annotations = "".join(f"        {_attribute(str(entry['name']))}: {_annotation(entry)}\n" for entry in entries)
    head = f'class {name}:\n    """{doc}"""\n\n    __slots__ = (\n'
    # Only the type checker needs annotations: at run time they would slow down start-up.
    return f"{head}{slots}    )\n\n    if TYPE_CHECKING:\n{annotations}\n\n"


def _tables(broker: list[Json], topic: list[Json], dynamic: list[Json], synonyms: list[Json]) -> str:
    parts = [_HEAD]
    for constant, entries in (("BROKER", broker), ("BROKER_DYNAMIC_ONLY", dynamic), ("TOPIC", topic)):
        rows = "".join(f"    {_row(entry)!r},\n" for entry in entries)
        parts.append(f"{constant}: tuple[Row, ...] = (\n{rows})\n\n")
    orders = "".join(f"    {entry['name']!r}: {tuple(_strings(entry['order']))!r},\n" for entry in synonyms)
    parts.append("# Which of several settings for one thing wins, first to last.\n")
    parts.append(f"PRECEDENCE: dict[str, tuple[str, ...]] = {{\n{orders}}}\n\n\n")
    parts.append(_fields_class("BrokerFields", "The typed attributes of a broker's settings.", broker))
    parts.append(_fields_class("TopicFields", "The typed attributes of a topic's settings.", topic))
    return "".join(parts)


def _strings(value: object) -> list[str]:
    assert isinstance(value, list)
    return [str(item) for item in value]


def _entries(document: Json, key: str) -> list[Json]:
    entries = document[key]
    assert isinstance(entries, list)
    return entries


def _formatted(source: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TABLES), "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True, cwd=ROOT).stdout


_DOCUMENT_HEAD = """# Settings

Generated from `schemas/configs.json`, `schemas/barnabas-configs.json` and, in `core/config/`, `documentation.py` and
`support.py` by `scripts/generate`.

`barnabas broker server.properties` takes Kafka's own file. Names, types, defaults and checks are those of Kafka 2.7.2.
`barnabas broker --check server.properties` lists what would stop the start, what has no effect and what is unknown,
each with its line; it exits with 1 if the broker would not start. It opens no port, writes nothing, and does not read
dynamic settings.

| in the file | the broker |
| --- | --- |
| invalid values | does not start; one line for each names the file, the line, the setting and the allowed values |
| Java classes for authorization or quotas | does not start either; the error names the alternative |
| settings without effect | starts, with one warning that lists them |
| unknown names (`jmx.port`, `confluent.*`, misspelt ones) | starts, as Kafka does; a warning for each |
| unknown names that begin with `barnabas.` | does not start: nothing else reads them |

| status | meaning |
| --- | --- |
| works | does what Kafka's documentation says, except for [differences.md](differences.md); a test checks it |
| no effect | tunes a part that this broker lacks (thread pools, purgatories, Kerberos, Java's metrics); ignored |
| refused | names a Java class; the broker does not start with it, except for Kafka's own class if the status says so |

Kafka's update mode says how a setting may change while the broker runs: `read-only` never; `cluster-wide` for all
brokers or for one; `per-broker` for one only. Dynamic values take precedence over the file, and those of one broker
over those of all. They are stored in the cluster's registry as in Kafka's ZooKeeper (`/config/brokers/<default>` and
`/config/brokers/<id>`, topics' own in `/config/topics`), and take effect at once, also for topics that inherit them.
A number of threads can at most halve or double in one step. DescribeConfigs returns each value's source, its synonyms,
and the text of the tables below.

Without a file, the broker uses these settings, and Kafka's defaults for the rest:

```properties
{single}
```

An `authorizer.class.name` other than Kafka's own AclAuthorizer is rejected, because ignoring it would open the broker
to everyone ([security.md](security.md)). Without `zookeeper.connect`, the broker stores the cluster's state itself,
and the other settings about ZooKeeper have no effect ([zookeeper.md](zookeeper.md)).
"""

_LIVE_HEAD = """
## Throttles

Set these while a broker runs (`barnabas configs alter`, Kafka's tools), never in its file:
[cluster.md](cluster.md#moving-partitions).
"""

_TOPIC_HEAD = """
## Topic settings

Set these when you create a topic (`--config name=value`), or later. The default of each is the broker's setting in the
fourth column.
"""


def _document(broker: list[Json], dynamic: list[Json], topic: list[Json]) -> str:
    single = "\n".join(f"{name}={value}" for name, value in SINGLE_BROKER_PROPERTIES.items())
    lines = [_DOCUMENT_HEAD.format(single=single)]
    lines += ["## Broker settings", "", "| setting | meaning | default | allowed | update mode | status |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    # Read from the schemas, because the package's tables may be outdated.
    of_broker = {setting.name: setting for setting in map(_setting, broker)}
    for name, setting in sorted(of_broker.items()):
        lines.append(
            f"| `{name}` | {_text(name)} | {_shown(setting)} | {allowed(setting)} | {setting.extra} | {status(name)} |"
        )
    lines += [_LIVE_HEAD, "| setting | meaning | default | allowed |", "| --- | --- | --- | --- |"]
    for setting in map(_setting, dynamic):
        lines.append(f"| `{setting.name}` | {_text(setting.name)} | {_shown(setting)} | {allowed(setting)} |")
    lines += [
        _TOPIC_HEAD,
        "| setting | meaning | default | broker's setting | allowed |",
        "| --- | --- | --- | --- | --- |",
    ]
    for setting in map(_setting, topic):
        fallback = f"`{setting.extra}`" if setting.extra in of_broker else ""
        lines.append(
            f"| `{setting.name}` | {_text(setting.extra)} | {_shown(setting)} | {fallback} | {allowed(setting)} |"
        )
    return "\n".join(lines) + "\n"


def _setting(entry: Json) -> Setting:
    return Setting(*_row(entry))  # type: ignore[arg-type]  # JSON has these types


def _text(name: str) -> str:
    if name not in TEXTS:
        sys.exit(f"say what {name or 'a setting of topics without serverDefault'} is for: core/config/documentation.py")
    return TEXTS[name]


def _shown(setting: Setting) -> str:
    default = format_value(setting.default_value)
    return f"`{default}`" if default else "empty" if default == "" else ""


def main() -> None:
    """Write both files."""
    kafka = json.loads((ROOT / "schemas/configs.json").read_text())
    own = json.loads((ROOT / "schemas/barnabas-configs.json").read_text())
    broker = _entries(kafka, "broker") + _entries(own, "broker")
    if unread := own.keys() - {"notes", "broker"}:
        sys.exit(f"schemas/barnabas-configs.json: only broker is read, not {', '.join(sorted(unread))}")
    topic = _entries(kafka, "topic")
    dynamic = _entries(kafka, "brokerDynamicOnly")
    tables = _tables(broker, topic, dynamic, _entries(kafka, "brokerSynonyms"))
    formatted = _formatted(tables)
    if TABLES.read_text() != formatted:
        TABLES.write_text(formatted)
    DOCUMENT.write_text(_document(broker, dynamic, topic))


if __name__ == "__main__":
    main()
