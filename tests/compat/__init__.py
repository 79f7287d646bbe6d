"""Real clients and real tools, which no one here wrote, against the broker."""
