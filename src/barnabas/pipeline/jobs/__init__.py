"""The jobs: plain functions from DataFrames to DataFrames, without session, source or sink.

Invariant: all functions can be called on literal rows; the runner adds source, sink and checkpoint.
"""
