"""The data pipeline: activity events over the wire into PySpark jobs.

Invariant: the pipeline reaches the broker only over the network and imports nothing of it. Only running jobs import
pyspark; the replay does not. Start it as `python -m barnabas.pipeline`.

Source: design page, section 4 (pipeline); use cases of Kafka's own design page (activity stream data).
"""
