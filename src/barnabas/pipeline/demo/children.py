"""Child processes of the demo: they die with it, and come back when they are killed.

Invariants: no child outlives its parent, even when that is killed (`core/parent.py`), and no process of a child
outlives the child; what a child prints to standard output is one JSON object a line, handed on as it comes; what else
it says goes to a file, and its last lines are kept here as well: on a full disk the file holds nothing.
"""

import asyncio
import json
import os
import signal
from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from barnabas.pipeline.demo.remedies import disk_failure_among, remedy_of

Event = dict[str, object]

_STOP_TIMEOUT_S = 30.0
_MOST_FAILURES = 5

# The exit code of a child that would fail the same way again.
HOPELESS = 2
_LONGEST_LINE_BYTES = 1 << 20
# Enough to find a cause above a Java stack trace, and what is shown of it.
_KEPT_LINES = 500
_SHOWN_LINES = 10


class ChildFailedError(Exception):
    """A child ended for a reason that starting it again does not mend: one line, with what to do where that is known.

    Attributes:
        last_lines: What the child said last.
    """

    def __init__(self, message: str, last_lines: Sequence[str]) -> None:
        super().__init__(message)
        self.last_lines = last_lines


class Child:
    """One process of the demo, started again as often as it is killed.

    Attributes:
        name: What people call it.
        pid: Its process id; 0 while it is not running.
        restart_count: How often it was started again.
    """

    def __init__(
        self,
        name: str,
        command: Callable[[], Sequence[str]],
        log: Path,
        on_event: Callable[[Event], None],
        notice: Callable[[str], None],
        environment: Mapping[str, str] | None = None,
        is_service: bool = False,
        hopeless_codes: Container[int] = (HOPELESS,),
    ) -> None:
        """Describe a child.

        Args:
            name: What people call it.
            command: Gives the command line; asked before each start.
            log: The file that what it says is appended to.
            on_event: Called with each JSON object that it prints.
            notice: Told in one line that it has ended and is started again.
            environment: Variables over this process's own.
            is_service: It has no end of its own: start it again when it ended in good order, too.
            hopeless_codes: Exit codes of one that would fail the same way again.
        """
        self.name = name
        self.pid = 0
        self.restart_count = 0
        self._command = command
        self._log = log
        self._on_event = on_event
        self._notice = notice
        self._environment = {**os.environ, **(environment or {})}
        self._is_service = is_service
        self._hopeless_codes = hopeless_codes
        self._last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._has_progress = False

    async def run(self) -> None:
        """Run it until it ends by itself with exit code 0.

        A child that was killed, or failed after it had told something, is started again; one that fails again and again
        at its start is given up, and one whose failure no new start mends (a full disk) is given up at once.

        Raises:
            ChildFailedError: it was given up; with its last lines.
        """
        failure_count = 0
        while True:
            self._has_progress = False
            self._last_lines.clear()
            code = await self._run_once()
            if code == 0 and not self._is_service:
                return
            failure_count = 0 if self._has_progress or code < 0 else failure_count + 1
            is_hopeless = code in self._hopeless_codes or (
                code > 0 and disk_failure_among(self._last_lines) is not None
            )
            if failure_count >= _MOST_FAILURES or is_hopeless:
                raise self._failure()
            why = f"was killed (signal {-code})" if code < 0 else f"ended with code {code}"
            self._notice(f"{self.name} {why}: starting it again")
            self.restart_count += 1
            if failure_count:
                await asyncio.sleep(0.5 * failure_count)

    async def _run_once(self) -> int:
        # Not a pipe of asyncio's: with one of those, the end of the process is only told once its pipe is closed, too,
        # and what the process started (Spark's JVM) may have it open for longer.
        output, output_end = os.pipe()
        errors, errors_end = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output_end,
                stderr=errors_end,
                env=self._environment,
                # Ctrl-C is for the demo, which stops its children itself.
                start_new_session=True,
            )
        except BaseException:
            os.close(output)
            os.close(errors)
            raise
        finally:
            os.close(output_end)
            os.close(errors_end)
        self.pid = process.pid
        reading = asyncio.gather(self._read(output, self._take), self._read(errors, self._keep))
        try:
            return await process.wait()
        except asyncio.CancelledError:
            await self._stop(process)
            raise
        finally:
            self.pid = 0
            # What it started is in its group.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await reading

    async def _read(self, output: int, take: Callable[[bytes], None]) -> None:
        reader = asyncio.StreamReader(_LONGEST_LINE_BYTES)
        with os.fdopen(output, "rb", buffering=0) as pipe:
            loop = asyncio.get_running_loop()
            transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
            try:
                while line := await _read_line(reader):
                    take(line)
            finally:
                transport.close()

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            self._keep(line)
            return
        self._has_progress = True
        self._on_event(event)

    def _keep(self, line: bytes) -> None:
        self._last_lines.append(line.decode(errors="replace").rstrip())
        # The disk may be what is full: then it is here alone.
        with suppress(OSError), self._log.open("ab", buffering=0) as log:
            log.write(line)

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_TIMEOUT_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def _failure(self) -> ChildFailedError:
        lines = [line for line in self._last_lines if line.strip()]
        cause = disk_failure_among(lines) or (lines[-1] if lines else "it said nothing")
        remedy = remedy_of(cause)
        message = f"{self.name} failed: {cause.strip()}{f'; {remedy}' if remedy else ''} (log: {self._log})"
        return ChildFailedError(message, lines[-_SHOWN_LINES:])


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """A line with its end; a piece of one that is too long; nothing at the end."""
    try:
        return await reader.readuntil()
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        return await reader.readexactly(error.consumed)
