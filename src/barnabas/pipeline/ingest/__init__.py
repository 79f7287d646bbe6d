"""The way of records into files: one Spark job a micro-batch, whose tasks read topics, parse and write.

`source.py` reads offset ranges, `parse.py` makes rows of records, `task.py` is a task, `ingest.py` the job.
"""
