"""The examples in the documents: found in the Markdown, and run as a person would paste them.

An indented block and a fence of `sh` or `console` is shell; in `console` the commands follow `$ `. A fence of `python`
is a program, or a test where it defines one. What cannot be run in an empty directory beside nothing but a broker says
so in a comment on its own line before the block, which holds for that block, or in one above the first heading, which
holds for the document:

    <!-- run by tests/integration/test_demo.py -->
    <!-- not run: why -->
"""

import os
import re
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.patience import PATIENCE_S
from tools.kafka.server import free_port

_FENCE = re.compile(r" *```(\w*)$")
_EXCUSE = re.compile(r"<!-- (run by|not run:) (.*) -->")
_CLIENT = re.compile(
    r"\b(barnabas (?:cluster status|explain|topics|produce|consume|groups|configs|quotas \w+|perf \w+))\b"
)
_JOB = re.compile(r"\b(barnabas[. ]pipeline (?:replay|run \w+))\b")
_ADDRESS = re.compile(r"listens on ([\w.]+:\d+)")

# A server that a document starts in the background, and the ports of such servers.
_PID_FILE = re.compile(r"& echo \$! > ([\w.-]+)$")
_PORT = re.compile(r"(?<=127\.0\.0\.1:)(?:2181|909[2-4])\b|(?<=--port )909[2-4]\b")


class Example(NamedTuple):
    """One block of a document.

    Attributes:
        language: `sh`, `python`, or that of another fence.
        code: Shell: one command a line.
        excuse: Why it is not run here; empty where it is.
        run_by: The test that runs it instead.
        shown: Of `console`: each command with the output that the document shows below it.
    """

    line: int
    language: str
    code: str
    excuse: str = ""
    run_by: str = ""
    shown: tuple[tuple[str, str], ...] = ()


def examples(text: str) -> list[Example]:
    """All blocks of a document."""
    found: list[Example] = []
    lines = text.splitlines()
    is_below_heading, for_all, for_next = False, ("", ""), ("", "")
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        at += 1
        excuse = _EXCUSE.fullmatch(line)
        if excuse is not None:
            told = (excuse[0], excuse[2] if excuse[1] == "run by" else "")
            if is_below_heading:
                for_next = told
            else:
                for_all = told
        elif fence := _FENCE.match(line):
            while lines[at].strip() != "```":
                at += 1
            body, language = textwrap.dedent("\n".join(lines[start + 1 : at])).split("\n"), fence[1]
            at += 1
        elif line.startswith("    "):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at]):
                at += 1
            body, language = [each[4:] for each in lines[start:at]], "sh"
        else:
            is_below_heading = is_below_heading or line.startswith("#")
        if excuse is None and (_FENCE.match(line) or line.startswith("    ")):
            shown: tuple[tuple[str, str], ...] = ()
            if language == "console":
                shown = _shown("\n".join(body))
                body, language = [each[2:] for each in body if each.startswith("$ ")], "sh"
            found.append(
                Example(
                    start + 1,
                    language,
                    "\n".join(body).strip("\n") + "\n",
                    *(for_next if any(for_next) else for_all),
                    shown,
                )
            )
            for_next = ("", "")
    return found


def _shown(session: str) -> tuple[tuple[str, str], ...]:
    parts = re.split(r"^\$ (.*)\n?", session, flags=re.MULTILINE)[1:]
    return tuple(zip(parts[::2], parts[1::2], strict=True))


def shape(output: str) -> list[str]:
    """The lines of an output, sorted, without what differs between two runs: numbers, ids, width of columns."""
    # True of a machine that is busy with other tests as well.
    output = re.sub(r"(?m)^the event loop of broker .* stalled .*$", "", output)
    # An address is that of the test; a duration may be in other units.
    output = re.sub(r" --bootstrap-server \S+", "", output)
    output = re.sub(r"(?<=[Cc]luster )[\w-]{22}", "ID", output)
    output = re.sub(r"\d+(\.\d+)?", "N", re.sub(r"\b[\d.]+ m?s\b", "N s", output))
    return sorted(" ".join(line.split()) for line in output.splitlines() if line.strip())


def is_like(printed: str, shown: str) -> bool:
    """Whether a command printed what a document shows; a line `...` stands for lines that are left out."""
    wanted, found = shape(shown), shape(printed)
    return set(wanted) - {"..."} <= set(found) if "..." in wanted else wanted == found


class Terminal:
    """Runs commands in a directory; a broker that is started goes on until the end."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._brokers: list[subprocess.Popen[str]] = []
        self._address = ""
        self._pid_files: set[Path] = set()
        self._free_ports: dict[str, str] = {}
        # As where the project is installed; and no client asks a broker that happens to run here.
        self._environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(self, command: str) -> str:
        """Run one line of shell as it stands, but for the broker's address and how long a reader waits in vain."""
        command = _PORT.sub(lambda port: self._free_ports.setdefault(port[0], str(free_port())), command)
        in_background = _PID_FILE.search(command)
        if in_background:
            self._pid_files.add(self._directory / in_background[1])
        elif re.search(r"\bbarnabas broker\b", command):
            return self._start_broker(command)
        if self._pid_files and "--bootstrap-server" not in command:
            command = _CLIENT.sub(rf"\1 --bootstrap-server 127.0.0.1:{self._free_ports.get('9092', '9092')}", command)
        elif not self._pid_files and not self._brokers and (_CLIENT.search(command) or _JOB.search(command)):
            self._start_broker("barnabas broker")
        addressed = command
        if self._address:
            addressed = _CLIENT.sub(rf"\1 --bootstrap-server {self._address}", command)
            addressed = _JOB.sub(rf"\1 --bootstrap-server {self._address}", addressed)
        addressed = addressed.replace(" --timeout-ms 5000", " --timeout-ms 1500")
        if " consume " in command and "--max-messages" not in command and "--timeout-ms" not in command:
            return self._read_a_line(addressed)
        result = subprocess.run(
            ["sh", "-c", addressed],
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_S,
            check=False,
            cwd=self._directory,
            env=self._environment,
        )
        assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
        return result.stdout + result.stderr

    def run_python(self, code: str) -> None:
        """Run a program, or a file of tests."""
        # Without the settings of this repository, if it is a clone: a reader's tests are in another project.
        how = f"-m pytest -q -p no:cacheprovider -c {os.devnull} --rootdir ." if "def test_" in code else ""
        (self._directory / "test_example.py").write_text(code)
        self.run(f"{self._python()} {how} test_example.py")

    def close(self) -> None:
        for broker in self._brokers:
            broker.send_signal(signal.SIGTERM)
            broker.communicate(timeout=PATIENCE_S)
        for file in self._pid_files:
            with suppress(ProcessLookupError, FileNotFoundError):
                os.kill(int(file.read_text()), signal.SIGKILL)

    def _python(self) -> str:
        own = self._directory / ".venv/bin/python"
        return str(own) if own.exists() else sys.executable

    def _start(self, command: str) -> "subprocess.Popen[str]":
        # Said to the shell: what gets the signal is the command itself.
        return subprocess.Popen(
            ["sh", "-c", f"exec {command}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self._directory,
            env=self._environment,
        )

    def _start_broker(self, command: str) -> str:
        command = command.split(" #")[0]
        port = "" if "--port" in command else " --port 0"
        broker = self._start(f"{command}{port} --die-with-parent")
        self._brokers.append(broker)
        assert broker.stdout is not None
        line = broker.stdout.readline()
        address = _ADDRESS.search(line)
        assert address is not None, f"{command}: {line}"
        self._address = self._address or address[1]
        return line

    def _read_a_line(self, command: str) -> str:
        """Run what goes on until Ctrl-C; it must end well."""
        with self._start(command) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, f"{command} said nothing"
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0, command
        return line
