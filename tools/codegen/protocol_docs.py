"""Writes docs/protocol.md: every API and record schema, with the versions that are read, written and served.

Usage: python -m tools.codegen.protocol_docs
"""

from pathlib import Path

from barnabas.broker.requests.handlers import HANDLERS
from tools.codegen.api_keys import ApiFacts, load_apis
from tools.codegen.schema import Message, load_messages, snake_case

_HEAD = """# The protocol

This page is generated from `schemas/` and the broker's handlers by `scripts/generate`.

`barnabas.wire.protocol` reads and writes every message below in every version of the column *versions*: those of Kafka
2.7, and no other. *served* is what a broker offers to clients: its answer to `ApiVersions`. What is *private* is
Barnabas's own, and `ApiVersions` does not name it: a client that knows of it asks, and Kafka closes the connection.
*flexible* is the first version with tagged fields (KIP-482).

As in Kafka, `ApiVersions` does not name the APIs 24 to 28 if `inter.broker.protocol.version` is below 0.11.

A request other than Produce that holds more than 100,000 array elements is refused, and so is a count that cannot fit
into the bytes that are left.

## APIs

| key | API | versions | served | flexible | spoken | module |
| --: | --- | --- | --- | --- | --- | --- |
"""

_RECORDS = """
## Records, headers and other structures

| schema | kind | record type | versions | flexible | module |
| --- | --- | --: | --- | --- | --- |
"""


ROOT = Path(__file__).resolve().parents[2]


def page(root: Path) -> str:
    """Return the text of the page."""
    messages = load_messages(root / "schemas/messages")
    served = {handler.api_key: _versions(handler.min_version, handler.max_version) for handler in HANDLERS}
    apis = "".join(_api_row(api, served.get(api.key, "-")) for api in load_apis(root))
    others = [message for message in messages.values() if message.kind not in ("request", "response")]
    return _HEAD + apis + _RECORDS + "".join(_record_row(message) for message in others)


def _versions(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _api_row(api: ApiFacts, served: str) -> str:
    cells = [
        str(api.key),
        api.message,
        str(api.request.versions),
        served,
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


if __name__ == "__main__":
    (ROOT / "docs/protocol.md").write_text(page(ROOT))
