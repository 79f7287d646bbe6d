"""Coverage-guided fuzzing of every door that bytes come in by: `scripts/soak --fuzz` (docs/contributing/proofs.md).

An input is bytes; a door takes one and raises where the broker did wrong: a bug's line in its log, a stall, an answer
that never came, a broker that answers nobody else any more. Finds become files in `finds/<door>/`, which
`tests/integration/test_fuzz.py` gives to the doors again in every test run.
"""
