"""Options that several commands share, and small parsers of option texts."""

import asyncio
import signal
from collections.abc import Coroutine, Iterable
from typing import Annotated, Literal, TypeVar

from barnabas.core.errors import BarnabasError

T = TypeVar("T")

DEFAULT_SERVER = "127.0.0.1:9092"


class Option:
    """What a command's parameter is annotated with: how it is typed, and what it is for.

    Attributes:
        names: `--name`, and shorter ones; none of an argument that is told by its place.
        metavar: What stands for the value in help; None: there is none, it is a flag.
        help: A sentence.
        min, max: Bounds of a number.
        nargs: "+" where several values may follow, "?" where none or one does.
        is_internal: For our own processes: help does not show it.
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
    """A boolean option without a value."""
    return Option(name, help=text)


BootstrapServer = Annotated[
    str,
    Option("--bootstrap-server", metavar="HOST:PORT,...", help="Brokers to connect to; one that answers is enough."),
]
CommandConfig = Annotated[
    str | None,
    Option(
        "--command-config",
        metavar="FILE",
        help="A properties file: client.id, timeouts, how brokers are reached (security.protocol, ssl.*, sasl.*).",
    ),
]
TimeoutMs = Annotated[
    int | None,
    Option("--timeout", min=1, max=2**31 - 1, metavar="MS", help="How long the cluster may take (default: 30000)."),
]
AsJson = Annotated[bool, flag("--json", "Print JSON for scripts instead of a table.")]


def paragraphs(text: str) -> str:
    """A help text with each of its paragraphs on one line, to be wrapped by the terminal's width."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def parse_broker_list(text: str) -> list[int]:
    """Read the ids of --broker-list, each once. Raises BarnabasError."""
    ids = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and int(part) < 2**31 for part in ids):
        raise BarnabasError(f"--broker-list {text}: write broker ids as 0,1")
    return sorted({int(part) for part in ids})


def parse_pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """Read `name=value` options. Raises BarnabasError naming the option."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BarnabasError(f"{option} {text}: write it as name=value")
        pairs[name.strip()] = value
    return pairs


def parse_flag(pairs: dict[str, str], name: str, default: bool) -> bool:
    """Take a true/false property. Raises BarnabasError."""
    text = pairs.pop(name, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise BarnabasError(f"--property {name}={text}: must be true or false")
    return text == "true"


def run_async(work: Coroutine[object, object, T]) -> T:
    """Run a command's work to its end."""
    return asyncio.run(work)


def stop_on_signals() -> asyncio.Event:
    """An event that Ctrl-C and SIGTERM set, so that a command can finish in good order; the second one ends it."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        stopped.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    return stopped
