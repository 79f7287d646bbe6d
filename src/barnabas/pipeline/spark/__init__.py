"""Spark on this machine or elsewhere: Java, the session, its jars."""
