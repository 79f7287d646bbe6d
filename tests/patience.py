"""How long a test waits for what must come.

It tells a hang from a machine that is slow or shared, and measures nothing: what is timed belongs in `benchmarks/`. It
is below pytest's own limit for a test, so that the test itself can say what did not come.
"""

PATIENCE_S = 240
