"""What happened of late, kept for who asks why: bounded, and nothing else depends on it."""
