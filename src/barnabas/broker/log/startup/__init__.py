"""Start of the logs: from the files of a stop or a crash to open logs."""
