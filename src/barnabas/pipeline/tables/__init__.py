"""Tables that a job writes: Delta, Iceberg, Parquet, PostgreSQL. Each commit stores the offsets read so far."""
