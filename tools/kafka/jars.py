"""The jars of Kafka 2.7.2 and its Streams, of four older brokers, of the newest Java client and of ZooKeeper's clients.

They are fetched once into `.cache/kafka-jars/`.

Layout: `.cache/kafka-jars/<set>-<first digits of the SHA-256 of pom.xml>/*.jar`. An existing directory is complete: it
is filled under another name and renamed. A changed `pom.xml` leads to another directory.

Source: Maven Central, through `pom.xml` and `clients.xml` beside this file.
"""

import fcntl
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

KAFKA = "kafka-2.7.2"
CLIENTS_4 = "kafka-clients-4"
STREAMS = "kafka-streams-2.7.2"
OLD_KAFKAS = tuple(f"kafka-{version}" for version in ("0.10.2.2", "0.11.0.3", "1.1.1", "2.3.1"))
"""Brokers of older versions, whose directories are adopted and released."""
KAFKA_0_8 = "kafka-0.8.2.2"
ZOOKEEPER_3_9 = "zookeeper-3.9"
JAR_SETS = (KAFKA, CLIENTS_4, STREAMS, *OLD_KAFKAS, KAFKA_0_8, ZOOKEEPER_3_9)

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
_POM = Path(__file__).with_name("pom.xml")
_CLIENTS_POM = Path(__file__).with_name("clients.xml")


class JarsError(Exception):
    """Maven is missing, or could not fetch the jars; the message says what to do."""


def directory(jar_set: str) -> Path:
    """Return the directory of one set's jars; fetch them first if they are missing.

    Args:
        jar_set: One of `JAR_SETS`.

    Raises:
        JarsError: Maven is not installed, or failed.
    """
    pom = _CLIENTS_POM if jar_set in (KAFKA_0_8, ZOOKEEPER_3_9) else _POM
    return fetched(pom, jar_set, CACHE / "kafka-jars")


def fetched(pom: Path, jar_set: str, parent: Path) -> Path:
    """Return the directory of one profile's jars below `parent`; fetch them first if they are missing.

    Raises:
        JarsError: Maven is not installed, or failed.
    """
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    target = parent / f"{jar_set}-{digest}"
    if target.is_dir():
        return target
    parent.mkdir(parents=True, exist_ok=True)
    # Several test sessions may start at once on a fresh machine: one fetches, the others wait for it.
    with (parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            _fetch(pom, jar_set, target)
    return target


def classpath(jar_set: str) -> str:
    """Return the Java class path of one set."""
    return f"{directory(jar_set)}/*"


def _fetch(pom: Path, jar_set: str, target: Path) -> None:
    if shutil.which("mvn") is None:
        raise JarsError("Maven is missing; install it: sudo apt-get install maven default-jdk-headless")
    staging = Path(tempfile.mkdtemp(dir=target.parent, prefix="incomplete-"))
    try:
        command = ["mvn", "--batch-mode", "--quiet", "--file", str(pom), "--activate-profiles", jar_set]
        command += ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={staging / 'jars'}"]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if result.returncode:
            reason = next((line for line in result.stdout.splitlines() if "ERROR" in line), "no reason given")
            raise JarsError(f"Maven could not fetch {jar_set}: {reason}")
        (staging / "jars").rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
