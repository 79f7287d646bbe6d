"""Barnabas' commands, run in this process: what one says and does needs no interpreter of its own, 0.3 s each.

That they are processes, with their streams, signals and exit codes, is shown by tests/integration/test_cli_mistakes.py.
"""

import io
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from unittest.mock import patch

from barnabas.cli.main import main


def run(*arguments: object, stdin: str = "") -> CompletedProcess[str]:
    """Run a command and return its exit code and what it said, as `subprocess.run` does; no terminal is there."""
    words = [str(each) for each in arguments]
    with ExitStack() as stack:
        out, err = stack.enter_context(_stream()), stack.enter_context(_stream())
        stack.enter_context(patch.object(sys, "stdin", _stream(stdin)))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        code = main(words)
        return CompletedProcess(words, code, _text(out), _text(err))


def _stream(text: str = "") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
