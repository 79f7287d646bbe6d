"""The data pipeline: activity events over the wire into PySpark jobs.

Invariant: it meets the broker over the wire only, and of this package it imports `clients` alone; pyspark is imported
where a job runs, never by the replay. Start it as `python -m barnabas.pipeline`.

Source: design page, section 4 (pipeline); use cases of Kafka's own design page (activity stream data).
"""
