"""Requests that alter settings, written as lines of text, and what a broker made of each of them.

    alter [validate] <type>:<name> key=value … [| …]        AlterConfigs
    change [validate] <type>:<name> <change> … [| …]        IncrementalAlterConfigs
    describe <type>:<name> key …                            DescribeConfigs, with synonyms
    write <entity> <settings as JSON>                       to the registry, by hand, with a notification

Types are the protocol's numbers: 2 topic, 4 broker, 8 broker logger. A change is `key=value` (set), `-key` (delete),
`key+=value` (append), `key-=value` (subtract) or `key?=value` (no operation that there is); the value `<null>` stands
for null. Lines are split as a shell does. The length of a line decides on the version of its request.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.alter_configs import AlterableConfig as Given
from barnabas.wire.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.wire.protocol.messages.alter_configs import AlterConfigsResource as Resource
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.protocol.messages.incremental_alter_configs import AlterableConfig as Change
from barnabas.wire.protocol.messages.incremental_alter_configs import AlterConfigsResource as ChangedResource
from barnabas.wire.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.compat.raw import ask

_OPERATIONS = {"+": 2, "-": 3, "?": 9}

Nodes = Callable[[], Mapping[str, str]]
"""What the nodes of entities, and of notifications of changes, hold now, by path."""


Write = Callable[[str, Mapping[str, str]], object]
"""Writes the settings of an entity to the registry, with a notification."""


def play(bootstrap_servers: str, lines: Sequence[str], nodes: Nodes, write: Write) -> list[str]:
    """Do what the lines say, one after the other.

    Returns:
        Each line, followed by its answers and by the nodes that are other than before.
    """
    told = []
    before = nodes()
    for line in lines:
        told.append(line)
        if line.startswith("write "):
            _, entity, settings = line.split(" ", 2)
            write(entity, json.loads(settings))
            before = nodes()
            continue
        told += [f"    {answer}" for answer in _answers(bootstrap_servers, line, len(line) % 2)]
        after = nodes()
        told += [
            f"    {'changes' if '/changes/' in path else path} {data}"
            for path, data in sorted(after.items())
            if before.get(path) != data
        ]
        before = after
    return told


def _answers(bootstrap_servers: str, line: str, version: int) -> list[str]:
    verb, *words = shlex.split(line)
    is_validated = words[:1] == ["validate"]
    resources = _resources(words[1:] if is_validated else words)
    match verb:
        case "describe":
            wanted = [DescribeConfigsResource(*each, keys or None) for each, keys in resources]
            answer = ask(bootstrap_servers, DescribeConfigsRequest(wanted, include_synonyms=True), 3)
            return [text for each in answer.results for text in _described(each)]
        case "alter":
            given = [Resource(*each, [_given(word) for word in words]) for each, words in resources]
            answer = ask(bootstrap_servers, AlterConfigsRequest(given, is_validated), version)
        case "change":
            changed = [ChangedResource(*each, [_change(word) for word in words]) for each, words in resources]
            answer = ask(bootstrap_servers, IncrementalAlterConfigsRequest(changed, is_validated), version)
        case _:
            raise ValueError(line)
    if answer is None:
        return ["the connection was closed"]
    return sorted(
        f"{each.resource_type}:{each.resource_name} {ErrorCode(each.error_code).name} {each.error_message!r}"
        for each in answer.responses
    )


def _resources(words: Sequence[str]) -> list[tuple[tuple[int, str], list[str]]]:
    resources: list[tuple[tuple[int, str], list[str]]] = []
    is_first = True
    for word in words:
        if word == "|":
            is_first = True
        elif is_first:
            kind, _, name = word.partition(":")
            resources.append(((int(kind), name), []))
            is_first = False
        else:
            resources[-1][1].append(word)
    return resources


def _given(word: str) -> Given:
    key, _, value = word.partition("=")
    return Given(key, None if value == "<null>" else value)


def _change(word: str) -> Change:
    if word.startswith("-"):
        return Change(word[1:], 1, None)
    key, _, value = word.partition("=")
    operation = _OPERATIONS.get(key[-1:], 0)
    return Change(key[:-1] if operation else key, operation, None if value == "<null>" else value)


def _described(result) -> list[str]:
    told = [
        f"{result.resource_type}:{result.resource_name} {ErrorCode(result.error_code).name} {result.error_message!r}"
    ]
    for each in sorted(result.configs, key=lambda config: config.name):
        synonyms = " ".join(f"{synonym.source}:{synonym.name}={synonym.value}" for synonym in each.synonyms)
        flags = f"{' read-only' if each.read_only else ''}{' sensitive' if each.is_sensitive else ''}"
        told.append(f"{each.name}={each.value} source {each.config_source} type {each.config_type}{flags} [{synonyms}]")
    return told
