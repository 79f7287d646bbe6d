"""Configuration: Kafka's settings under their own names, checked and typed.

The rest of the package reads `BrokerConfig` and `TopicConfig`; `support` lists the settings that work, `describe`
answers DescribeConfigs. The tables behind them are generated from `schemas/configs.json`.
"""

from barnabas.core.config.broker import BrokerConfig
from barnabas.core.config.listeners import Endpoint
from barnabas.core.config.properties import parse_properties, read_properties
from barnabas.core.config.topic import TopicConfig

__all__ = ["BrokerConfig", "Endpoint", "TopicConfig", "parse_properties", "read_properties"]
