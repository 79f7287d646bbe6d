"""Tables that a job writes: Delta, Iceberg, Parquet, PostgreSQL; with each commit stands how far it has read."""
