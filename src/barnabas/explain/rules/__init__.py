"""Rules, one question per file: they turn a snapshot into findings, the most severe first."""
