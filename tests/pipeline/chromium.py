"""A real browser for tests: Debian's Chromium without a window, told what to do over a pipe.

Source: Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol/); with `--remote-debugging-pipe`
messages are JSON with a NUL behind each, in at descriptor 3, out at 4.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_S

_OPTIONS = (
    "--headless=new",
    # Not as another user, and not with the user's own files.
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def program() -> str | None:
    """Where the browser is; None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page of a running browser. `requests` are the addresses that it asked for since the last `open`."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []
        self.requests: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self._call(f"{domain}.enable")

    def resize(self, width: int, height: int, scheme: str) -> None:
        """Set the window's size, and what the reader prefers: "dark" or "light"."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path: Path) -> None:
        """Load a file and wait until it is there."""
        self.requests.clear()
        self._events.clear()
        self._call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._receive()

    def evaluate(self, script: str) -> Any:
        """Give the value of an expression, as JSON gives it."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, path: Path, top: int = 0, height: int = 0) -> None:
        """Write the page as a PNG: all of it, or a strip of this height."""
        width, whole = self.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": top, "width": width, "height": height or whole, "scale": 1}
        answer = self._call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        while (answer := self._receive()).get("id") != number:
            pass
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _receive(self) -> dict[str, Any]:
        deadline_s = time.monotonic() + PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0, deadline_s - time.monotonic()))
            assert ready, "the browser says nothing"
            data = os.read(self._answers, 1 << 16)
            assert data, "the browser has ended"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        if "method" in message:
            self._events.append(message)
        return message


@contextmanager
def running_browser(directory: Path) -> Iterator[Browser]:
    """Start a browser that keeps its files in a directory; end it with the block."""
    found = program()
    assert found is not None, "there is no Chromium: scripts/packages installs it"
    command_out, command_in = os.pipe()
    answer_out, answer_in = os.pipe()
    options = [*_OPTIONS, f"--user-data-dir={directory / 'profile'}", "about:blank"]
    process = subprocess.Popen(
        # The descriptors have to be these two, and the shell can make them so.
        ["/bin/bash", "-c", f'exec "$0" "$@" 3<&{command_out} 4>&{answer_in}', found, *options],
        pass_fds=(command_out, answer_in),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(directory), "TZ": "America/St_Johns"},
    )
    os.close(command_out)
    os.close(answer_in)
    try:
        yield Browser(command_in, answer_out)
    finally:
        # It ends when nobody speaks to it any more.
        os.close(command_in)
        os.close(answer_out)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
