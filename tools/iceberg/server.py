"""Iceberg's REST catalog in one process, on a free loopback port: the servlet of Iceberg's own tests, over SQLite."""

import subprocess
from pathlib import Path
from typing import Self

from tools.kafka.jars import CACHE, fetched
from tools.kafka.java import die_with_parent

_JAR_SET = "iceberg-rest-1.10.0"
_HERE = Path(__file__).parent
_JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
_END_TIMEOUT_S = 60


class RestCatalogError(Exception):
    """The catalog did not start; the message ends with the last of its log."""


class RestCatalog:
    """A running REST catalog; use it as a context.

    Args:
        directory: Where its database, its tables and its log are; the caller's, and left behind.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = 0

    @property
    def uri(self) -> str:
        """`http://host:port`."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        jars = fetched(_HERE / "pom.xml", _JAR_SET, CACHE / "iceberg-jars")
        self.directory.mkdir(parents=True, exist_ok=True)
        places = [str(self.directory / "backend.db"), str(self.directory / "warehouse")]
        command = ["java", *_JVM_OPTIONS, "-cp", f"{jars}/*", str(_HERE / "RestCatalog.java"), *places]
        log = self.directory / "rest.log"
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, preexec_fn=die_with_parent
            )
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        if not answer.isdigit():
            self.__exit__()
            raise RestCatalogError(f"no REST catalog: {answer!r}\n{log.read_text(errors='replace')[-2000:]}")
        self.port = int(answer)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            # It ends with its input.
            self._process.communicate(timeout=_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
