"""The broker's command line: what the options make of the file, and the one line where they cannot be."""

import pytest

from barnabas.broker.server.main import load_config, main, parser
from barnabas.core.errors import ConfigError


def load(*options):
    return load_config(parser().parse_args([str(option) for option in options]))


@pytest.fixture
def file(tmp_path):
    """Write a file of settings."""

    def write(*lines):
        path = tmp_path / "server.properties"
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def endpoints(config):
    return [(endpoint.host, endpoint.port) for endpoint in config.endpoints]


def test_without_anything_it_is_one_broker_on_this_machine():
    config = load()
    assert endpoints(config) == [("127.0.0.1", 9092)]
    assert [str(each) for each in config.log_dirs] == ["./barnabas-data"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--port", 0], ("127.0.0.1", 0)),
        (["--host", "10.1.2.3"], ("10.1.2.3", 9092)),
        (["--host", "::1", "--port", 9], ("::1", 9)),
    ],
)
def test_an_address_by_options(options, expected):
    assert endpoints(load(*options)) == [expected]


def test_an_option_wins_over_an_override_and_that_over_the_file(file):
    path = file("num.partitions=2", "log.dirs=/file", "log.retention.ms=5")
    config = load(path, "--override", "num.partitions = 3", "--override", "log.dirs=/override", "--data-dir", "/option")
    assert (config.num_partitions, [str(each) for each in config.log_dirs]) == (3, ["/option"])
    assert config.log_retention_ms == 5


@pytest.mark.parametrize(
    "line", ["advertised.listeners=PLAINTEXT://far:1", "host.name=far", "advertised.host.name=far", "port=1"]
)
def test_an_address_by_option_replaces_all_that_the_file_says_about_addresses(file, line):
    config = load(file(line), "--port", 7)
    assert endpoints(config) == [("127.0.0.1", 7)]
    assert [(each.host, each.port) for each in config.advertised_endpoints] == [("127.0.0.1", 7)]


@pytest.mark.parametrize("listeners", ["PLAINTEXT://127.0.0.1:7", "PLAINTEXT://:7"])
def test_an_override_of_listeners_keeps_what_the_file_advertises(file, listeners):
    config = load(file("advertised.listeners=PLAINTEXT://far:1"), "--override", f"listeners={listeners}")
    assert [each.port for each in config.endpoints] == [7]
    assert [(each.host, each.port) for each in config.advertised_endpoints] == [("far", 1)]


def test_a_file_for_zookeeper_is_for_zookeeper_unless_asked_otherwise(file):
    path = file("broker.id=1", "zookeeper.connect=localhost:2181/kafka")
    assert load(path).zookeeper_connect == "localhost:2181/kafka"
    assert load(path, "--embedded").zookeeper_connect is None
    assert load(path, "--embedded", "--override", "zookeeper.connect=far:1").zookeeper_connect is None
    assert load(path, "--override", "zookeeper.connect=far:1").zookeeper_connect == "far:1"


@pytest.mark.parametrize("override", ["num.partitions", "=3", " =3"])
def test_an_override_must_be_one(override):
    with pytest.raises(ConfigError, match="must be NAME=VALUE"):
        load("--override", override)


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_must_be_one(port):
    with pytest.raises(ConfigError, match=f"--port {port}: must be from 0 to 65535"):
        load("--port", port)


def test_an_impossible_setting_names_its_line(file):
    with pytest.raises(ConfigError, match=r"server\.properties:2: .*num\.partitions"):
        load(file("broker.id=1", "num.partitions=many"))


def test_an_impossible_override_names_no_line(file):
    with pytest.raises(ConfigError) as caught:
        load(file("num.partitions=1"), "--override", "num.partitions=many")
    assert "num.partitions" in str(caught.value)
    assert "server.properties:1" not in str(caught.value)


@pytest.mark.parametrize("options", [["--port", "x"], ["--nonsense"], ["--log-level", "loud"]])
def test_a_mistyped_option_is_one_line_and_status_1(options, capsys):
    assert main(options) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.endswith("--help shows the options\n")
