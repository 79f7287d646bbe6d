"""The schemas say what Kafka 2.7.2 says: the same messages and, in each version, the same fields in the same order.

Source: the schemas that Kafka's own jar carries (`common/message/*.json`).
"""

import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from barnabas.wire.protocol.api_keys import APIS
from tools.codegen.schema import Versions
from tools.kafka import jars

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas/messages"
# Kafka 2.7 carries these of a preview that no broker of it speaks.
NOT_SPOKEN = {"VoteRequest", "VoteResponse", "BeginQuorumEpochRequest", "BeginQuorumEpochResponse"}
NOT_SPOKEN |= {"EndQuorumEpochRequest", "EndQuorumEpochResponse", "DescribeQuorumRequest", "DescribeQuorumResponse"}
NOT_SPOKEN |= {"LeaderChangeMessage"}
# Kafka 2.7 has no schemas for the records of its internal topics: they stand in its code.
RECORDS = {"GroupMetadataKey", "GroupMetadataValue", "OffsetCommitKey", "OffsetCommitValue"}
RECORDS |= {"TransactionLogKey", "TransactionLogValue"}


@cache
def ours() -> dict[str, dict[str, Any]]:
    """Our schemas by the name that Kafka 2.7 gives them, but for those that it does not know."""
    private = {int(api.key) for api in APIS.values() if api.is_private}
    schemas = (json.loads(path.read_text()) for path in SCHEMAS.glob("*.json"))
    return {
        schema.get("formerName", schema["name"]): schema for schema in schemas if schema.get("apiKey") not in private
    }


@pytest.fixture(scope="module")
def theirs() -> dict[str, dict[str, Any]]:
    """Kafka's schemas by name."""
    with zipfile.ZipFile(jars.directory(jars.KAFKA) / "kafka-clients-2.7.2.jar") as jar:
        names = [name for name in jar.namelist() if name.startswith("common/message/") and name.endswith(".json")]
        texts = {Path(name).stem: jar.read(name).decode() for name in names}
    return {name: json.loads(_without_comments(text)) for name, text in texts.items()}


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.strip().startswith("//"))


def layout(schema: dict[str, Any], version: int) -> tuple[bool, list[object]]:
    """What a message is on the wire in a version: whether it is flexible, and its fields."""
    structs = {struct["name"]: struct["fields"] for struct in schema.get("commonStructs", [])}
    return version in Versions.parse(schema.get("flexibleVersions")), _fields(schema["fields"], structs, version)


def _fields(fields: list[dict[str, Any]], structs: dict[str, Any], version: int) -> list[object]:
    in_line: list[object] = []
    tagged: list[tuple[int, object, object]] = []
    for field in fields:
        if version not in Versions.parse(field["versions"]):
            continue
        kind = field["type"].removeprefix("[]")
        inner = field.get("fields", structs.get(kind))
        # Records and nullable bytes are the same on the wire, and 2.7 has nullable bytes in Produce.
        what: object = "bytes" if kind == "records" else kind
        if inner is not None:
            what = _fields(inner, structs, version)
        name = field.get("formerName", field["name"]).lower()
        is_nullable = version in Versions.parse(field.get("nullableVersions"))
        is_compact = field.get("flexibleVersions") != "none"
        entry = (name, field["type"].startswith("[]"), what, is_nullable, is_compact)
        if version in Versions.parse(field.get("taggedVersions")):
            tagged.append((field["tag"], entry, field.get("default")))
        else:
            in_line.append(entry)
    return [*in_line, *sorted(tagged, key=lambda item: item[0])]


def test_schemas_are_of_the_messages_that_kafka_speaks(theirs: dict[str, dict[str, Any]]) -> None:
    assert set(ours()) - RECORDS == set(theirs) - NOT_SPOKEN


@pytest.mark.parametrize("name", sorted(set(ours()) - RECORDS))
def test_schema_is_kafkas_in_every_version(theirs: dict[str, dict[str, Any]], name: str) -> None:
    schema, kafkas = ours()[name], theirs[name]
    versions = Versions.parse(schema["validVersions"])
    assert versions == Versions.parse(kafkas["validVersions"])
    assert schema.get("apiKey") == kafkas.get("apiKey")
    for version in versions:
        assert layout(schema, version) == layout(kafkas, version), f"version {version}"
