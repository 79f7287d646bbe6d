"""The documented producer: batches and balances, sync or async; docs/clients/producer.md describes it in full.

Names are imported on first use, so that importing an error class does not load librdkafka.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.api.producer.async_producer import AsyncProducer
    from barnabas.api.producer.data import ProducerData
    from barnabas.api.producer.encoders import DefaultEncoder, Encoder, StringEncoder
    from barnabas.api.producer.errors import (
        EncodingError,
        MessageTooLargeError,
        PartitionerError,
        QueueFullError,
        SendError,
    )
    from barnabas.api.producer.handlers import CallbackHandler, EventHandler, Sends
    from barnabas.api.producer.partitioners import DefaultPartitioner, Murmur2Partitioner, Partitioner
    from barnabas.api.producer.producer import Producer

__all__ = [
    "AsyncProducer",
    "CallbackHandler",
    "DefaultEncoder",
    "DefaultPartitioner",
    "Encoder",
    "EncodingError",
    "EventHandler",
    "MessageTooLargeError",
    "Murmur2Partitioner",
    "Partitioner",
    "PartitionerError",
    "Producer",
    "ProducerData",
    "QueueFullError",
    "SendError",
    "Sends",
    "StringEncoder",
]

_MODULES = {
    "async_producer": ("AsyncProducer",),
    "data": ("ProducerData",),
    "encoders": ("DefaultEncoder", "Encoder", "StringEncoder"),
    "errors": ("EncodingError", "MessageTooLargeError", "PartitionerError", "QueueFullError", "SendError"),
    "handlers": ("CallbackHandler", "EventHandler", "Sends"),
    "partitioners": ("DefaultPartitioner", "Murmur2Partitioner", "Partitioner"),
    "producer": ("Producer",),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            value: object = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
