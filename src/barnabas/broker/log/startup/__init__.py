"""Opens logs at a start, after a clean stop or a crash."""
