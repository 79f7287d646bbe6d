"""Log directories: their lock, identity, checkpoints, and the files in them."""
