"""Servers of Iceberg's catalogs, each a process on a free loopback port.

The REST catalog is the servlet of Iceberg's own tests, over SQLite. Hive's metastore comes from Spark's jars.
"""

import subprocess
from pathlib import Path
from typing import Self

from tools.kafka.jars import CACHE, fetched
from tools.kafka.java import die_with_parent

_JAR_SET = "iceberg-rest-1.10.0"
_HERE = Path(__file__).parent
_JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
_END_TIMEOUT_S = 60


class CatalogServerError(Exception):
    """The catalog did not start; the message ends with the last lines of its log."""


class _CatalogServer:
    """A running catalog; use it as a context.

    Args:
        directory: Directory of its database, its tables and its log; the caller must delete it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = 0

    def _command(self) -> tuple[Path, str, list[str]]:
        """Return the directory of its jars, the name of its program, and the program's arguments."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        jars, program, arguments = self._command()
        self.directory.mkdir(parents=True, exist_ok=True)
        command = ["java", *_JVM_OPTIONS, "-cp", f"{jars}/*", str(_HERE / program), *arguments]
        log = self.directory / "catalog.log"
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, preexec_fn=die_with_parent
            )
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        if not answer.isdigit():
            self.__exit__()
            raise CatalogServerError(f"no catalog: {answer!r}\n{log.read_text(errors='replace')[-2000:]}")
        self.port = int(answer)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            # The server ends when its input ends.
            self._process.communicate(timeout=_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


class RestCatalog(_CatalogServer):
    """Iceberg's REST catalog."""

    @property
    def uri(self) -> str:
        """Return `http://host:port`."""
        return f"http://127.0.0.1:{self.port}"

    def _command(self) -> tuple[Path, str, list[str]]:
        places = [str(self.directory / "backend.db"), str(self.directory / "warehouse")]
        return fetched(_HERE / "pom.xml", _JAR_SET, CACHE / "iceberg-jars"), "RestCatalog.java", places


class HiveMetastore(_CatalogServer):
    """Hive's metastore."""

    @property
    def uri(self) -> str:
        """Return `thrift://host:port`."""
        return f"thrift://127.0.0.1:{self.port}"

    def _command(self) -> tuple[Path, str, list[str]]:
        import pyspark

        return Path(pyspark.__file__).parent / "jars", "HiveMetastore.java", [str(self.directory)]
