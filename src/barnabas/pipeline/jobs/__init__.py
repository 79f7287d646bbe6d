"""The jobs: plain functions from DataFrames to DataFrames, without session, source or sink.

Invariant: what is in here can be called on literal rows; the runner adds source, sink and checkpoint.
"""
