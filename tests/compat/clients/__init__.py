"""The clients under test, all behind one small surface, so that each tells the same stories.

`model` says what a client can do; one module per client does it in that client's own words.
"""

from collections.abc import Callable

from tests.compat.clients.aiokafka import AioKafkaClient
from tests.compat.clients.java import JavaClient
from tests.compat.clients.kafka_python import KafkaPythonClient
from tests.compat.clients.librdkafka import LibrdkafkaClient
from tests.compat.clients.model import Client, Consumer, Message, Record
from tools.kafka.jars import CLIENTS_4, KAFKA

FACTORIES: dict[str, Callable[[str], Client]] = {
    "java-2.7.2": lambda bootstrap_servers: JavaClient(bootstrap_servers, KAFKA),
    "java-4": lambda bootstrap_servers: JavaClient(bootstrap_servers, CLIENTS_4),
    "librdkafka": LibrdkafkaClient,
    "kafka-python": KafkaPythonClient,
    "aiokafka": AioKafkaClient,
}

__all__ = ["FACTORIES", "Client", "Consumer", "Message", "Record"]
