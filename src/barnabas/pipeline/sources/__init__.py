"""Event sources (logs, host metrics, broker metrics, a generator), and the feeder that sends them to topics."""
