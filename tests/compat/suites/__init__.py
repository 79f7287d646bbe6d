"""Test suites that others wrote for their clients, against Kafka 2.7.2 and Barnabas in turn.

`python -m tests.compat.suites` runs them against both and compares the results test by test; `scripts/soak --suites`
does so in their long forms, and `test_suites.py` runs the short forms of some against one broker.

    suite.py          what a suite is, and how results are compared
    go_modules.py     Go modules: fetched, built once, run
    sdists.py         source distributions of PyPI: fetched, unpacked, run with pytest
    franz_go.py, kafka_python.py...   one suite each
    go/<name>/        go.mod and go.sum of a suite: its version and checksums

Nothing of the suites is in this repository: their code comes from the Go module proxy or PyPI, at the version and with
the checksum that is pinned here, into `.cache/suites`.
"""
