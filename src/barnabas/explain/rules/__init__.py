"""One question in each file: what was seen goes in, findings come out, the worst first."""
