"""Handlers that a program can install in an async producer: `callback.handler` and `event.handler`.

    send ─► before_enqueue ─► queue ─► after_enqueue
    queue ─► after_dequeuing_existing_data ─► before_sending_data ─► event handler ─► brokers
    close ─► last_batch_before_close ─► … ─► close

Hooks before the queue run in the thread that calls `send`, the others in the producer's own. If a hook raises, `send`
raises (before the queue) or the batch fails (after it).

Source: configuration document of 0.7, "Options for Asynchronous Producers"; kafka.producer.async.CallbackHandler and
EventHandler of 0.7.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from barnabas.api.producer.data import ProducerData
from barnabas.api.producer.encoders import instance
from barnabas.api.producer.errors import SendError
from barnabas.api.settings import load
from barnabas.core.config.properties import read_properties
from barnabas.core.errors import ConfigError


class CallbackHandler:
    """Hooks at each stage of the queue. All do nothing by default: inherit, and override those that you need."""

    def init(self, props: Mapping[str, object]) -> None:
        """Prepare the hooks; called once, first, with `callback.handler.props`."""

    def before_enqueue(self, data: ProducerData) -> ProducerData:
        """Return the data to queue in place of `data`."""
        return data

    def after_enqueue(self, data: ProducerData, added: bool) -> None:
        """Note that the data is in the queue, or was not `added` because the queue is full."""

    def after_dequeuing_existing_data(self, batch: list[ProducerData]) -> list[ProducerData]:
        """Return the batch to send in place of the one taken from the queue."""
        return batch

    def before_sending_data(self, batch: list[ProducerData]) -> list[ProducerData]:
        """Return the batch to pass to the event handler."""
        return batch

    def last_batch_before_close(self) -> list[ProducerData]:
        """Return messages to send after everything in the queue."""
        return []

    def on_failure(self, error: SendError) -> None:
        """Note that the messages in `error.failed` were given up.

        Not documented by Kafka, whose producer only logs them.
        """

    def close(self) -> None:
        """Close the hooks; called once, last."""


class Sends(Protocol):
    """The sender that an event handler receives."""

    def send(self, batch: Sequence[ProducerData]) -> None:
        """Send, and wait for the brokers' answers. Raises SendError."""
        ...


class EventHandler(Protocol):
    """Replaces the default handling of an async producer's batches."""

    def init(self, props: Mapping[str, object]) -> None:
        """Prepare the handler; called once, first, with `event.handler.props`."""
        ...

    def handle(self, batch: list[ProducerData], sender: Sends) -> None:
        """Handle a batch of messages as given to `send`. A SendError goes to `on_failure`."""
        ...

    def close(self) -> None:
        """Close the handler; called once, last."""
        ...


def new_callback_handler(value: object, props: object) -> CallbackHandler:
    """Return the initialized hooks that `callback.handler` names or is. Raises ConfigError."""
    if value is None:
        return CallbackHandler()
    made = instance(load("callback.handler", value, {}), {})
    if not isinstance(made, CallbackHandler):
        raise ConfigError(f"callback.handler={value}: it must inherit from {__name__}.CallbackHandler")
    made.init(_properties("callback.handler.props", props))
    return made


def new_event_handler(value: object, props: object) -> EventHandler | None:
    """Return the initialized handler that `event.handler` names or is; None: the default. Raises ConfigError."""
    if value is None or value == "kafka.producer.async.DefaultEventHandler":
        return None
    made = instance(load("event.handler", value, {}), {})
    if not all(callable(getattr(made, method, None)) for method in ("init", "handle", "close")):
        raise ConfigError(f"event.handler={value}: it must have init(props), handle(batch, sender) and close()")
    handler: EventHandler = made  # type: ignore[assignment]  # its methods are there
    handler.init(_properties("event.handler.props", props))
    return handler


def _properties(name: str, value: object) -> Mapping[str, object]:
    """Return a mapping as it is, or read the properties file at that path."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str):
        return dict(read_properties(value)[0])
    raise ConfigError(f"{name} must be a mapping, or the path of a properties file")
