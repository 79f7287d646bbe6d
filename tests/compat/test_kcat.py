"""kcat, with the old librdkafka that Debian ships: it speaks older versions of the APIs than confluent-kafka does."""

import json
import subprocess

from tests.compat.conftest import RunningBroker
from tests.patience import PATIENCE_S


def kcat(broker: RunningBroker, *arguments: str, stdin: str = "") -> str:
    command = ["kcat", "-b", broker.bootstrap_servers, *arguments]
    result = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_kcat_lists_produces_and_consumes(cluster: RunningBroker, name: str) -> None:
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        lines = "".join(f"k{number}:{codec} {number}\n" for number in range(20))
        kcat(cluster, "-P", "-t", name, "-p", "0", "-K:", "-z", codec, stdin=lines)
    listed = json.loads(kcat(cluster, "-L", "-J", "-t", name))
    assert listed["brokers"][0]["name"] == cluster.bootstrap_servers
    assert listed["topics"][0]["partitions"][0]["leader"] == 0
    text = kcat(cluster, "-C", "-t", name, "-p", "0", "-o", "beginning", "-e", "-q", "-f", r"%o %k %s\n")
    assert len(text.splitlines()) == 100
    assert text.splitlines()[-1] == "99 k19 zstd 19"
    assert kcat(cluster, "-C", "-t", name, "-p", "0", "-o", "-1", "-e", "-q") == "zstd 19\n"


def test_kcat_queries_offsets(cluster: RunningBroker, name: str) -> None:
    kcat(cluster, "-P", "-t", name, "-p", "0", stdin="a\nb\nc\n")
    assert kcat(cluster, "-Q", "-t", f"{name}:0:-1").split() == [name, "[0]", "offset", "3"]
    assert kcat(cluster, "-Q", "-t", f"{name}:0:-2").split() == [name, "[0]", "offset", "0"]
    assert kcat(cluster, "-Q", "-t", f"{name}:0:1500000000000").split() == [name, "[0]", "offset", "0"]


def test_kcat_joins_a_group_and_resumes(cluster: RunningBroker, name: str) -> None:
    kcat(cluster, "-P", "-t", name, "-p", "0", stdin="a\nb\n")
    join = ("-G", name, "-q", "-e", "-X", "auto.offset.reset=earliest", name)
    assert kcat(cluster, *join).split() == ["a", "b"]
    kcat(cluster, "-P", "-t", name, "-p", "0", stdin="c\n")
    assert kcat(cluster, *join).split() == ["c"]
