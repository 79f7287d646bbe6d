"""Mirroring on Spark: its tasks run the engine of `barnabas.clients.mirror`, each for some partitions' ranges."""
