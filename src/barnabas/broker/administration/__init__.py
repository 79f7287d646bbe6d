"""What clients administer: topics, their rules, and the producer ids that are given out."""
