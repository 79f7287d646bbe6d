"""Options that several commands share, and small parsers of option texts."""

import asyncio
import signal
from collections.abc import Coroutine, Iterable
from typing import Annotated, Literal, TypeVar

from barnabas.core.errors import BarnabasError
from barnabas.core.process import stop_signals

T = TypeVar("T")

DEFAULT_SERVER = "127.0.0.1:9092"


class Option:
    """The annotation of a command's parameter: its option names, value and help.

    Attributes:
        names: `--name` and short forms; empty for a positional argument.
        metavar: Placeholder of the value in help; None for a flag.
        help: One or two sentences.
        min, max: Inclusive bounds of a number.
        nargs: "+" for one or more values, "?" for an optional value.
        is_internal: Used between Barnabas's own processes; help does not show it.
    """

    __slots__ = ("help", "is_internal", "max", "metavar", "min", "names", "nargs")

    def __init__(
        self,
        *names: str,
        help: str,
        metavar: str | None = None,
        min: int | None = None,
        max: int | None = None,
        nargs: Literal["+", "?"] | None = None,
        is_internal: bool = False,
    ) -> None:
        self.names = names
        self.metavar = metavar
        self.help = help
        self.min = min
        self.max = max
        self.nargs = nargs
        self.is_internal = is_internal


def flag(name: str, text: str) -> Option:
    """Return a boolean option without a value."""
    return Option(name, help=text)


BootstrapServer = Annotated[
    str,
    Option(
        "--bootstrap-server", metavar="HOST:PORT,...", help="Brokers to connect to; one reachable broker is enough."
    ),
]
CommandConfig = Annotated[
    str | None,
    Option(
        "--command-config",
        metavar="FILE",
        help="Properties file of the client: client.id, timeouts, security.protocol, ssl.*, sasl.*.",
    ),
]
TimeoutMs = Annotated[
    int | None,
    Option(
        "--timeout",
        min=1,
        max=2**31 - 1,
        metavar="MS",
        help="Timeout of each request, including retries (default: 30000).",
    ),
]
AsJson = Annotated[bool, flag("--json", "Print JSON for scripts instead of a table.")]


def paragraphs(text: str) -> str:
    """Return a help text with each paragraph on one line, to be wrapped at the terminal's width."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def parse_broker_list(text: str) -> list[int]:
    """Read the ids of --broker-list, each once. Raises BarnabasError."""
    ids = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and int(part) < 2**31 for part in ids):
        raise BarnabasError(f"--broker-list {text}: must be broker ids such as 0,1")
    return sorted({int(part) for part in ids})


def parse_pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """Read `name=value` options. Raises BarnabasError that names the option."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BarnabasError(f"{option} {text}: must have the form name=value")
        pairs[name.strip()] = value
    return pairs


def parse_flag(pairs: dict[str, str], name: str, default: bool) -> bool:
    """Remove and return a true/false property. Raises BarnabasError if it is neither."""
    text = pairs.pop(name, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise BarnabasError(f"--property {name}={text}: must be true or false")
    return text == "true"


def run_async(work: Coroutine[object, object, T]) -> T:
    """Run a command's coroutine to its end."""
    return asyncio.run(work)


def stop_on_signals() -> asyncio.Event:
    """Return an event that Ctrl-C, SIGTERM or SIGHUP sets, for an orderly end.

    A second Ctrl-C or SIGTERM ends the process. A second SIGHUP does not: a closed terminal may send several.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        stopped.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    for number in stop_signals():
        loop.add_signal_handler(number, stop)
    return stopped
