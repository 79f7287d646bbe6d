"""The client APIs that Kafka's design and implementation documents (0.7 to 0.10) describe, for Python programs.

    Producer             batches and balances; sync, or async with a queue and callbacks
    SimpleConsumer       one connection to one broker; the program manages the offsets
    ConsumerConnector    streams of messages; the members of a group share partitions through ZooKeeper

All are synchronous, use threads of their own, and are configured by the documented names. Names are imported on first
use.

Source: design and implementation documents, the producer, the consumer, distribution; zookeeper.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.api.connector.connector import ConsumerConnector
    from barnabas.api.producer import Producer
    from barnabas.api.simple_consumer import SimpleConsumer

__all__ = ["ConsumerConnector", "Producer", "SimpleConsumer"]

_MODULES = {
    "ConsumerConnector": "connector.connector",
    "Producer": "producer",
    "SimpleConsumer": "simple_consumer",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
