"""Other people's Kafka, for the tests and the benchmarks: its jars, its command-line tools, its broker.

`jars` fetches them through Maven into `.cache/`; `java` runs a class out of them; `server` runs a broker with its
ZooKeeper. The package never imports this.
"""
