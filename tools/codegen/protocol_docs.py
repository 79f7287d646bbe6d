"""Writes docs/protocol.md: every API and record schema that the protocol package can read and write."""

from pathlib import Path

from tools.codegen.api_keys import ApiFacts, load_apis
from tools.codegen.schema import Message, load_messages, snake_case

_HEAD = """# The protocol

This page is generated from `schemas/` by `scripts/generate`.

`barnabas.wire.protocol` reads and writes every message below in every version of the column *versions*: those of Kafka
2.7, and no other. What a broker offers to clients is another matter: `ApiVersions` says it, and it never goes beyond
this table. What is *private* is Barnabas's own, and `ApiVersions` does not name it: a client that knows of it asks, and
Kafka closes the connection. *flexible* is the first version with tagged fields (KIP-482).

A request other than Produce that holds more than 100,000 array elements is refused, and so is a count that cannot fit
into the bytes that are left.

## APIs

| key | API | versions | flexible | spoken | module |
| --: | --- | --- | --- | --- | --- |
"""

_RECORDS = """
## Records, headers and other structures

| schema | kind | record type | versions | flexible | module |
| --- | --- | --: | --- | --- | --- |
"""


def generate(root: Path) -> dict[Path, str]:
    """The text of the page."""
    messages = load_messages(root / "schemas/messages")
    apis = "".join(_api_row(api) for api in load_apis(root))
    others = [message for message in messages.values() if message.kind not in ("request", "response")]
    return {Path("docs/protocol.md"): _HEAD + apis + _RECORDS + "".join(_record_row(message) for message in others)}


def _api_row(api: ApiFacts) -> str:
    cells = [
        str(api.key),
        api.message,
        str(api.request.versions),
        _flexible(api.request),
        "between brokers" if api.is_inter_broker else "private" if api.is_private else "",
        f"`messages/{api.module}.py`",
    ]
    return f"| {' | '.join(cells)} |\n"


def _record_row(message: Message) -> str:
    cells = [
        message.name,
        message.kind,
        "" if message.api_key is None else str(message.api_key),
        str(message.versions),
        _flexible(message),
        f"`messages/{snake_case(message.name)}.py`",
    ]
    return f"| {' | '.join(cells)} |\n"


def _flexible(message: Message) -> str:
    return str(message.flexible.low) if message.flexible else "-"
