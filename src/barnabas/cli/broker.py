"""`barnabas broker`: starts the server without loading the modules of the other commands."""

from collections.abc import Sequence


def run_broker(arguments: Sequence[str]) -> int:
    """Run a broker until it is stopped; return its exit code."""
    from barnabas.broker.server.main import main

    return main(arguments)
