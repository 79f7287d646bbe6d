"""What a program may put into an async producer's way: `callback.handler` and `event.handler`.

    send ─► before_enqueue ─► queue ─► after_enqueue
    queue ─► after_dequeuing_existing_data ─► before_sending_data ─► event handler ─► brokers
    close ─► last_batch_before_close ─► … ─► close

Hooks of the queue's entrance run in the thread that calls `send`, the others in the producer's own; one that raises
makes its batch fail (or `send`, before the queue).

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
    """Hooks at each stage of the queue, none of which does anything here: inherit, and write those that matter."""

    def init(self, props: Mapping[str, object]) -> None:
        """Called once, with `callback.handler.props`, before anything else."""

    def before_enqueue(self, data: ProducerData) -> ProducerData:
        """Return what is put into the queue in place of `data`."""
        return data

    def after_enqueue(self, data: ProducerData, added: bool) -> None:
        """The data is in the queue; or not `added`, as it was full."""

    def after_dequeuing_existing_data(self, batch: list[ProducerData]) -> list[ProducerData]:
        """Return what is to be sent of what was taken from the queue."""
        return batch

    def before_sending_data(self, batch: list[ProducerData]) -> list[ProducerData]:
        """Return what is handed to the event handler."""
        return batch

    def last_batch_before_close(self) -> list[ProducerData]:
        """Return what is still to be sent, after all that was in the queue."""
        return []

    def on_failure(self, error: SendError) -> None:
        """Messages were given up; they are in `error.failed`. Documented nowhere: Kafka's producer only logs them."""

    def close(self) -> None:
        """Called once, after everything."""


class Sends(Protocol):
    """What an event handler sends with."""

    def send(self, batch: Sequence[ProducerData]) -> None:
        """Send, and wait for what the brokers say. Raises SendError."""
        ...


class EventHandler(Protocol):
    """Does with the batches of an async producer what the default does not."""

    def init(self, props: Mapping[str, object]) -> None:
        """Called once, with `event.handler.props`, before anything else."""
        ...

    def handle(self, batch: list[ProducerData], sender: Sends) -> None:
        """Dispose of a batch; messages are as `send` was given them. A SendError goes to `on_failure`."""
        ...

    def close(self) -> None:
        """Called once, after everything."""
        ...


def new_callback_handler(value: object, props: object) -> CallbackHandler:
    """The hooks that `callback.handler` names, or is, after their `init`. Raises ConfigError."""
    if value is None:
        return CallbackHandler()
    made = instance(load("callback.handler", value, {}), {})
    if not isinstance(made, CallbackHandler):
        raise ConfigError(f"callback.handler={value}: it has to inherit from {__name__}.CallbackHandler")
    made.init(_properties("callback.handler.props", props))
    return made


def new_event_handler(value: object, props: object) -> EventHandler | None:
    """The handler that `event.handler` names, or is, after its `init`; None: the default. Raises ConfigError."""
    if value is None or value == "kafka.producer.async.DefaultEventHandler":
        return None
    made = instance(load("event.handler", value, {}), {})
    if not all(callable(getattr(made, method, None)) for method in ("init", "handle", "close")):
        raise ConfigError(f"event.handler={value}: it has to have init(props), handle(batch, sender) and close()")
    handler: EventHandler = made  # type: ignore[assignment]  # its methods are there
    handler.init(_properties("event.handler.props", props))
    return handler


def _properties(name: str, value: object) -> Mapping[str, object]:
    """A mapping, or what stands in the properties file of that path."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str):
        return dict(read_properties(value)[0])
    raise ConfigError(f"{name} has to be a mapping, or the path of a properties file")
