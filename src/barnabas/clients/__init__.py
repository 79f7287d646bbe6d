"""Kafka clients over the package's own channel: admin, producer, consumer, group member.

They serve the command line and the pipeline's replay; programs that need librdkafka's speed use librdkafka. All clients
of a process share a `Pool`: one connection per broker and one copy of the cluster metadata.

Names are imported on first use: a command that lists topics loads no producer.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.clients.admin import Admin
    from barnabas.clients.channel import Channel
    from barnabas.clients.consumer import Consumer
    from barnabas.clients.group import GroupMember
    from barnabas.clients.pool import Pool
    from barnabas.clients.producer import Producer, RecordMetadata

__all__ = ["Admin", "Channel", "Consumer", "GroupMember", "Pool", "Producer", "RecordMetadata"]

_MODULES = {
    "Admin": "admin",
    "Channel": "channel",
    "Consumer": "consumer",
    "GroupMember": "group",
    "Pool": "pool",
    "Producer": "producer",
    "RecordMetadata": "producer",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
