"""Reads records into files: one Spark job for each micro-batch, whose tasks read topics, parse records and write rows.

`source.py` reads offset ranges, `parse.py` converts records to rows, `task.py` is a task, `ingest.py` the job.
"""
