"""The demo: a broker, a log that is replayed into it, four jobs on Spark, a report; each a process that may be killed."""
