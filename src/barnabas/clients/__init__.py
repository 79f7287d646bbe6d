"""Clients over our own channel: admin, producer, consumer, group member.

They serve the command line and the pipeline's replay; what needs librdkafka's speed uses librdkafka. All of one
process share a `Pool`: one connection per broker and one view of the cluster.
"""

from barnabas.clients.admin import Admin
from barnabas.clients.channel import Channel
from barnabas.clients.consumer import Consumer
from barnabas.clients.group import GroupMember
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer, RecordMetadata

__all__ = ["Admin", "Channel", "Consumer", "GroupMember", "Pool", "Producer", "RecordMetadata"]
