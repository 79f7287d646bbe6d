"""Producer state of a log: sequences, epochs and open transactions, with its snapshots."""
