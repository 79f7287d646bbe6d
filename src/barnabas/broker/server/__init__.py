"""The broker as a process: the object graph, its start and its stop."""
