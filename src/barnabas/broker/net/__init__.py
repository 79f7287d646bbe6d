"""Sockets and frames: receives bytes, passes frames up, sends answers. This package does not interpret frames."""
