"""`barnabas broker`: straight to the server, without what the other commands load."""

from collections.abc import Sequence


def run_broker(arguments: Sequence[str]) -> int:
    """Run a broker until it is told to stop; its exit code."""
    from barnabas.broker.server.main import main

    return main(arguments)
