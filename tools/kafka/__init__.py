"""Apache Kafka, for tests and benchmarks: its jars, its command-line tools, its broker.

`jars` fetches the jars through Maven into `.cache/`; `java` runs their classes; `server` runs a broker with its
ZooKeeper. The package never imports it.
"""
