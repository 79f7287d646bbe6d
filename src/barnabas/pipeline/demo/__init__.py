"""The demo: a broker, a replayed log, jobs on Spark and a report, in processes that may be killed."""
