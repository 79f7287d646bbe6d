"""The demo: a broker, a replayed access log, jobs on Spark and a report, in child processes that may be killed."""
