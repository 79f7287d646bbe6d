"""Groups of Kafka 0.8.2's high-level consumers, in Java, and ours beside each other: played, and judged.

judge.py           what must hold (pure)
member.py          one consumer in a process of its own, spoken to by lines
python_driver.py   such a process around `barnabas.api.ConsumerConnector`; Kafka's is ../java/OldConsumerDriver.java
tree.py            what ZooKeeper holds of a group
site.py            a broker, its ZooKeeper (real or its own), topics and a producer
group.py           members that come and go, each change waited for until the group is stable
offsets.py         committed offsets, in ZooKeeper and in Kafka, looked at all the time
"""
