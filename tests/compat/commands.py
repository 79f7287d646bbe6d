"""Our own commands against the broker under test, in this process."""

import contextlib
import io
import json
from typing import Any, NamedTuple

import pytest

from barnabas.cli.main import main
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest
from tests.compat.raw import ask


class Ran(NamedTuple):
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run_here(*arguments: object) -> Ran:
    """Run a command line in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = main([str(argument) for argument in arguments])
    return Ran(ended, *(text.buffer.getvalue().decode() for text in (out, err)))


class Commands:
    """Runs commands against one broker.

    Attributes:
        servers: Its address.
    """

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run a command line; what it printed: its results, or where `code` says that it fails its complaint."""
        ran = run_here(*arguments, "--bootstrap-server", self.servers)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stderr if code else ran.stdout

    def json(self, *arguments: str) -> Any:
        """Run a command line with --json; what that says."""
        return json.loads(self.run(*arguments, "--json"))

    def fails(self, *arguments: str) -> str:
        """Run a command line that must fail; its complaint, one line."""
        complaint = self.run(*arguments, code=1)
        assert complaint.count("\n") == 1
        return complaint

    def need(self, *apis: ApiKey) -> None:
        """Skip the test where the broker does not say that it answers these APIs."""
        answer = ask(self.servers, ApiVersionsRequest(), 0)
        missing = [api.name for api in apis if api not in {each.api_key for each in answer.api_keys}]
        if missing:
            pytest.skip(f"the broker has no {', '.join(missing)} yet")
