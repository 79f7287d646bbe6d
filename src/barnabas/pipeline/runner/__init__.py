"""Runs jobs: source, dead letters, offsets, limits and figures around a job's own functions.

Each batch of a run goes through these steps:

    records of topics ─► parsed events ─► transform ─► tables (rows and offsets in one commit), topics
                      └► dead letters                    └► refresh ─► derived tables, changed rows to topics
"""
