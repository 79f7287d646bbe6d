"""Sockets and frames: bytes in, frames up, answers out; nothing in here knows what a frame means."""
