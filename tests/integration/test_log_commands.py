"""`barnabas log` beside a broker that runs, and after it has stopped and was killed."""

import json
import subprocess
import sys

import pytest

from barnabas.testing import Broker
from tests import commands
from tests.patience import PATIENCE_S


def log(*arguments: str) -> str:
    result = commands.run("log", *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def produce(broker: Broker, count: int) -> None:
    command = [sys.executable, "-m", "barnabas.cli.main", "produce", "--topic", "views", "--compression-codec", "zstd"]
    subprocess.run(
        [*command, "--bootstrap-server", broker.bootstrap_servers],
        input="".join(f"line {number}\n" for number in range(count)),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_beside_a_broker_and_after_it(end: str) -> None:
    with Broker() as broker:
        produce(broker, 500)
        (report,) = json.loads(log("verify", str(broker.data_dir), "--json"))
        assert (report["is_open"], report["damage_count"]) == (True, 0)
        assert report["broker_process"] > 0
        assert {each["log"]: each["end_offset"] for each in report["logs"]}["views-0"] == 500
        assert json.loads(log("stats", str(broker.data_dir), "--topic", "views", "--json"))[0]["record_count"] == 500
        assert "payload: line 499\n" in log("dump", str(broker.data_dir / "views-0"), "--print-data-log")
        getattr(broker, end)()
        (report,) = json.loads(log("verify", str(broker.data_dir), "--json"))
        assert (report["is_open"], report["was_clean"], report["damage_count"]) == (False, end == "stop", 0)
        broker.restart()
        (report,) = json.loads(log("verify", str(broker.data_dir), "--json"))
        assert report["damage_count"] == 0
