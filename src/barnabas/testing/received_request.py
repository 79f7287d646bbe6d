"""A request as a test sees it, with its topics and groups."""

from dataclasses import dataclass, field
from typing import Any

from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.wire import Message

_TOPIC_RESOURCE = 2
_GROUP_KEY = 0
_FIRST_METADATA_VERSION_WITH_NULL = 1


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as the broker received it.

    Attributes:
        api: Kafka's name of the API, such as "Produce".
        client_id: As sent; null is "".
        message: The decoded request, of `barnabas.wire.protocol.messages`; changing it has no effect.
        is_taken: Whether the interception handled it. False if its `times` were used up, if a newer interception
            handled it, or if it only watches.
    """

    api: str
    api_version: int
    client_id: str
    message: Any = field(repr=False)
    is_taken: bool = False

    @property
    def topics(self) -> frozenset[str] | None:
        """Return the topics that the request names; None if it asks for all of them."""
        return _topics(self.message, self.api_version)

    @property
    def groups(self) -> frozenset[str]:
        """Return the consumer groups that the request names."""
        return _groups(self.message)


def api_name(api: ApiKey) -> str:
    """Return Kafka's name of an API: "OffsetCommit"."""
    return "".join(word.title() for word in api.name.split("_"))


def api_named(name: str) -> ApiKey:
    """Return the API with a name in Kafka's spelling.

    Raises:
        ValueError: Kafka 2.7 has no API of that name.
    """
    for api in ApiKey:
        if api_name(api) == name:
            return api
    raise ValueError(f"{name!r} is not an API; Kafka's names are Produce, Fetch, OffsetCommit")


def _topics(message: Message, api_version: int) -> frozenset[str] | None:
    for name in ("topics", "topic_data", "topic_names", "resources"):
        if name not in message.FIELDS:
            continue
        named = getattr(message, name)
        is_old_metadata = message.API_KEY == ApiKey.METADATA and api_version < _FIRST_METADATA_VERSION_WITH_NULL
        if named is None or (is_old_metadata and not named):
            return None
        return frozenset(topic for each in named if (topic := _topic(each)) is not None)
    return frozenset()


def _topic(element: Any) -> str | None:
    """Return the topic of an element of these arrays; None if it concerns something else."""
    if isinstance(element, str):
        return element
    slots = element.FIELDS
    if "resource_type" in slots:
        return str(element.resource_name) if element.resource_type == _TOPIC_RESOURCE else None
    return str(element.topic if "topic" in slots else element.name)


def _groups(message: Message) -> frozenset[str]:
    slots = message.FIELDS
    if "group_id" in slots:
        return frozenset([message.group_id])  # type: ignore[attr-defined]  # each class has attributes of its own
    if "groups" in slots:
        return frozenset(message.groups)  # type: ignore[attr-defined]
    if "key_type" in slots and message.key_type == _GROUP_KEY:  # type: ignore[attr-defined]
        return frozenset([message.key])  # type: ignore[attr-defined]
    return frozenset()
