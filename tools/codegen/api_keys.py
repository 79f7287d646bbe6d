"""Writes src/barnabas/wire/protocol/api_keys.py from schemas/apis.json and the schemas of the requests."""

import json
from dataclasses import dataclass
from pathlib import Path

from tools.codegen.schema import Message, load_messages, snake_case

_HEAD = '''"""The API keys of Kafka 2.7 and Barnabas, with their versions and the modules of their messages.

Importing this is cheap: a message's module loads on the first use of its class.

Generated from schemas/apis.json and the schemas of the requests by scripts/generate.

Source: protocol guide, "Api keys"; KIP-482 for flexible versions.
"""

from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Final

from barnabas.wire.protocol.wire import Message

# First flexible version of an API that has none.
NEVER_FLEXIBLE: Final = 32767


class ApiKey(IntEnum):
    """The number of a kind of request."""

'''

_BODY = '''

class Api:
    """Properties of one API that are known without loading its messages.

    Attributes:
        key: The API's key.
        message: The schemas' name without `Request` or `Response`.
        module: The module of its messages, in `barnabas.wire.protocol.messages`.
        min_version, max_version: The range of Kafka 2.7.
        first_flexible_version: Where tagged fields begin; NEVER_FLEXIBLE when they do not.
        is_inter_broker: Whether only brokers use it.
        is_private: Whether only Barnabas supports it; ApiVersions does not list it.
    """

    __slots__ = (
        "first_flexible_version",
        "is_inter_broker",
        "is_private",
        "key",
        "max_version",
        "message",
        "min_version",
        "module",
    )

    def __init__(
        self,
        key: ApiKey,
        message: str,
        module: str,
        min_version: int,
        max_version: int,
        first_flexible_version: int,
        is_inter_broker: bool,
        is_private: bool = False,
    ) -> None:
        self.key = key
        self.message = message
        self.module = module
        self.min_version = min_version
        self.max_version = max_version
        self.first_flexible_version = first_flexible_version
        self.is_inter_broker = is_inter_broker
        self.is_private = is_private

    @property
    def request_class_name(self) -> str:
        return f"{self.message}Request"

    @property
    def response_class_name(self) -> str:
        return f"{self.message}Response"


_APIS = (
'''

_TAIL = ''')

APIS: Final[dict[int, Api]] = {int(api.key): api for api in _APIS}

# hot path: of every request's header (benchmarks/micro/test_protocol.py).
FIRST_FLEXIBLE_VERSION: Final[dict[int, int]] = {key: api.first_flexible_version for key, api in APIS.items()}


@cache
def request_class(key: int) -> type[Message]:
    """Return the class of an API's requests; load its module on first use.

    Raises:
        KeyError: No API has this key.
    """
    api = APIS[key]
    return _message_class(api.module, api.request_class_name)


@cache
def response_class(key: int) -> type[Message]:
    """Return the class of an API's responses; load its module on first use.

    Raises:
        KeyError: No API has this key.
    """
    api = APIS[key]
    return _message_class(api.module, api.response_class_name)


def _message_class(module: str, name: str) -> type[Message]:
    found: type[Message] = getattr(import_module(f"barnabas.wire.protocol.messages.{module}"), name)
    return found
'''


@dataclass(frozen=True, slots=True)
class ApiFacts:
    """One API, with the schema of its requests; the schema of its responses has the same versions."""

    key: int
    name: str
    message: str
    is_inter_broker: bool
    is_private: bool
    request: Message

    @property
    def module(self) -> str:
        return snake_case(self.message)


def load_apis(root: Path) -> list[ApiFacts]:
    """Return all APIs, in order of key."""
    messages = load_messages(root / "schemas/messages")
    facts = [
        ApiFacts(
            api["key"],
            api["name"],
            api["message"],
            api["interBroker"],
            api.get("private", False),
            messages[f"{api['message']}Request"],
        )
        for api in json.loads((root / "schemas/apis.json").read_text())
    ]
    return sorted(facts, key=lambda api: api.key)


def generate(root: Path) -> dict[Path, str]:
    """Return the text of the module."""
    apis = load_apis(root)
    members = "".join(f"    {api.name} = {api.key}\n" for api in apis)
    rows = "".join(f"    Api({', '.join(_arguments(api))}),\n" for api in apis)
    return {Path("src/barnabas/wire/protocol/api_keys.py"): _HEAD + members + _BODY + rows + _TAIL}


def _arguments(api: ApiFacts) -> list[str]:
    versions, flexible = api.request.versions, api.request.flexible
    return [
        f"ApiKey.{api.name}",
        f'"{api.message}"',
        f'"{api.module}"',
        str(versions.low),
        str(versions.high),
        str(flexible.low) if flexible else "NEVER_FLEXIBLE",
        str(api.is_inter_broker),
        *(["True"] if api.is_private else []),
    ]
