"""Replication as a follower: truncates logs to the leaders' logs, then fetches from the leaders."""
