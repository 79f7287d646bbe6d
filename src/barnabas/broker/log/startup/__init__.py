"""From the files that a stop or a crash left to logs that are open."""
