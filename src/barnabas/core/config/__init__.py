"""Configuration: Kafka's settings by their own names, checked, with their types.

`BrokerConfig` and `TopicConfig` are what the rest of the package reads; `support` says which settings work, `describe`
what DescribeConfigs answers. The tables behind them are generated from `schemas/configs.json`.
"""

from barnabas.core.config.broker import BrokerConfig
from barnabas.core.config.listeners import Endpoint
from barnabas.core.config.properties import parse_properties, read_properties
from barnabas.core.config.topic import TopicConfig

__all__ = ["BrokerConfig", "Endpoint", "TopicConfig", "parse_properties", "read_properties"]
