"""Our own commands against the broker under test, in this process."""

import json
from typing import Any

import pytest

from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest
from tests import commands
from tests.compat.raw import ask


class Commands:
    """Runs commands against one broker.

    Attributes:
        servers: Its address.
        stdin: What they read.
    """

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.stdin = ""

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run a command line; what it printed: its results, or where `code` says that it fails its complaint."""
        ran = commands.run(*arguments, "--bootstrap-server", self.servers, stdin=self.stdin)
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
