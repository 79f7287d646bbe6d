"""A network of namespaces, each host in its own: what passes between two of them can be cut, one way, too.

It needs no root, but a kernel that lets anybody make namespaces. The program runs itself again in namespaces of its own
(user, mount, network); hosts hang on it by one veth pair each, it forwards between them, and a rule drops what is cut,
in silence. It and all that is in it end with the program.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

_INSIDE = "BARNABAS_SOAK_NAMESPACE"
# A link that loses what is sent in half of all moments is slow, as TCP sends it again later and later.
_FLAP_S = 0.15


class Host(NamedTuple):
    """A namespace: its address, and the words before a command that is to run there."""

    name: str
    address: str
    prefix: tuple[str, ...]


LOOPBACK = Host("", "127.0.0.1", ())


def enter(module: str) -> bool:
    """Run the program again inside namespaces of its own, unless it is there.

    Returns:
        Whether it is; where the kernel forbids them it goes on without.
    """
    if os.environ.get(_INSIDE) == str(os.getpid()):
        return True
    unshare = ["unshare", "-Urnm"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        return False
    # Neither forks: the process id stays.
    os.environ[_INSIDE] = str(os.getpid())
    os.execvp("unshare", [*unshare, sys.executable, "-m", module, *sys.argv[1:]])


class Network:
    """The hosts and the cuts between them."""

    def __init__(self) -> None:
        self._hosts: dict[str, int] = {}
        _run("ip", "link", "set", "lo", "up")
        _run("mount", "-t", "tmpfs", "none", "/run")
        Path("/run/netns").mkdir()
        # Java asks for the name of each address; nobody else can tell, and asking takes as long as it takes to give up.
        self._names = Path("/run/hosts")
        self._names.write_text("127.0.0.1 localhost\n")
        _run("mount", "--bind", str(self._names), "/etc/hosts")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def host(self, name: str) -> Host:
        """Make a host."""
        number = len(self._hosts) + 1
        self._hosts[name] = number
        inside = ("ip", "-n", name)
        with self._names.open("a") as names:
            names.write(f"10.77.{number}.2 {name}\n10.77.{number}.1 {name}-gateway\n")
        _run("ip", "netns", "add", name)
        _run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        _run("ip", "addr", "add", f"10.77.{number}.1/24", "dev", name)
        _run("ip", "link", "set", name, "up")
        _run(*inside, "addr", "add", f"10.77.{number}.2/24", "dev", "eth0")
        _run(*inside, "link", "set", "eth0", "up")
        _run(*inside, "link", "set", "lo", "up")
        _run(*inside, "route", "add", "default", "via", f"10.77.{number}.1")
        return Host(name, f"10.77.{number}.2", ("nsenter", f"--net=/run/netns/{name}"))

    def cut(self, source: str, target: str) -> None:
        """Drop what one host sends to another one."""
        _run("ip", "rule", "add", *self._rule(source, target))

    def mend(self, source: str, target: str) -> None:
        """Let it through again."""
        _run("ip", "rule", "del", *self._rule(source, target))

    def _rule(self, source: str, target: str) -> tuple[str, ...]:
        return "iif", source, "to", f"10.77.{self._hosts[target]}.0/24", "blackhole"


class Flapping:
    """Links that are cut, both ways, in half of all moments, while the context lasts."""

    def __init__(self, network: Network, links: list[tuple[str, str]]) -> None:
        self._network, self._links = network, links
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._has_ended.wait(_FLAP_S):
            for link in self._links:
                self._network.cut(*link)
            self._has_ended.wait(_FLAP_S)
            for link in self._links:
                self._network.mend(*link)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._has_ended.set()
        self._thread.join()


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
