"""Clusters of real processes, with faults between them: `scripts/soak --cluster`."""
