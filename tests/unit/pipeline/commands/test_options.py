"""Options that several commands have."""

import argparse

import pytest

from barnabas.clients.positions import parse_time
from barnabas.core.errors import ConfigError
from barnabas.pipeline.commands.main import REFUSED, main
from barnabas.pipeline.commands.options import (
    add_cluster_options,
    add_table_options,
    feeder_security,
    kafka_options,
    parse_bound,
    run_names,
    sender_options,
    settle_format,
)
from barnabas.pipeline.runner.plan import Bound, PlanError


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("2026-11-17T14:00", 1_794_924_000_000),
        ("2026-11-17T14:00:00Z", 1_794_924_000_000),
        ("2026-11-17T15:00+01:00", 1_794_924_000_000),
        ("2026-11-17", 1_794_873_600_000),
        ("1794924000000", 1_794_924_000_000),
    ],
)
def test_times(text, time_ms):
    assert parse_time(text) == time_ms
    assert parse_bound(text) == Bound(time_ms=time_ms)


def test_bounds():
    assert parse_bound(None) is None
    assert parse_bound("earliest") == Bound()
    assert parse_bound("latest") == Bound(is_latest=True)
    assert parse_bound('{"t": {"0": 5}}') == Bound(offsets={"t": {0: 5}})
    with pytest.raises(PlanError, match="last tuesday"):
        parse_bound("last tuesday")


@pytest.mark.parametrize(
    ("name", "has_other_jobs", "run", "other_run"),
    [
        ("", False, "load", ""),
        ("", True, "load", ""),
        ("prod", False, "prod", "prod/load"),
        ("prod", True, "prod/load", "prod"),
        ("prod/load", False, "prod/load", "prod"),
    ],
)
def test_the_name_of_a_run_has_the_job_if_it_has_other_jobs(name, has_other_jobs, run, other_run):
    assert run_names(name, "load", has_other_jobs) == (run, other_run)


def options(*arguments):
    parser = argparse.ArgumentParser()
    add_cluster_options(parser)
    return kafka_options(parser.parse_args(arguments), "barnabas-load")


def test_client_options_are_kafkas_own(tmp_path):
    file = tmp_path / "client.properties"
    # A line goes on behind a backslash, as in Java.
    file.write_text(
        '# how we log in\nsecurity.protocol = SASL_SSL\n\nsasl.jaas.config=x required \\\n  username="a";\n'
    )
    given = options("--command-config", str(file), "--kafka-option", "client.id=me", "--bootstrap-server", "h:1")
    assert given.bootstrap_servers == "h:1"
    assert given.options == {
        "client.id": "me",
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": 'x required username="a";',
    }
    assert options().options == {"client.id": "barnabas-load"}
    file.write_text("security.protocol=SSL \n")
    given = options("--command-config", str(file), "--kafka-option", "client.id=me ")
    assert given.options == {"client.id": "me", "security.protocol": "SSL"}


def test_records_of_open_and_aborted_transactions_are_read_only_by_an_option(tmp_path):
    assert options().isolation_level == "read_committed"
    given = options("--kafka-option", "isolation.level=read_uncommitted")
    assert given.for_consumer()["isolation.level"] == "read_uncommitted"
    # A producer has no such setting.
    assert "isolation.level" not in given.for_producer()
    with pytest.raises(PlanError, match=r"isolation\.level=committed is invalid"):
        options("--kafka-option", "isolation.level=committed")


def test_what_is_no_option_is_told_with_its_line(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("client.id=me\nx=\\u12\n")
    with pytest.raises(ConfigError, match=r"client.properties:2"):
        options("--command-config", str(file))
    with pytest.raises(ConfigError, match="nowhere"):
        options("--command-config", str(tmp_path / "nowhere"))
    with pytest.raises(PlanError, match="--kafka-option nonsense"):
        options("--kafka-option", "nonsense")


def test_secrets_are_in_no_repr():
    given = options("--kafka-option", 'sasl.jaas.config=x required password="swordfish";')
    assert "swordfish" not in repr(given)


def test_feeders_reach_brokers_by_the_same_options(tmp_path):
    def security(*arguments):
        parser = argparse.ArgumentParser()
        add_cluster_options(parser)
        return feeder_security(parser.parse_args(arguments))

    assert security() is None
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'
    given = security(
        *("--kafka-option", "security.protocol=SASL_PLAINTEXT", "--kafka-option", "sasl.mechanism=PLAIN"),
        *("--kafka-option", f"sasl.jaas.config={login}"),
    )
    assert given is not None
    assert given.mechanism == "PLAIN"
    with pytest.raises(ConfigError, match=r"sasl\.mechanism=GSSAPI is not supported"):
        security("--kafka-option", "security.protocol=SASL_PLAINTEXT")
    with pytest.raises(ConfigError, match=r"/nowhere is unusable"):
        security("--kafka-option", "security.protocol=SSL", "--kafka-option", "ssl.truststore.location=/nowhere")


def test_senders_connect_by_the_same_options():
    def sender(*options):
        parser = argparse.ArgumentParser()
        add_cluster_options(parser)
        words = [word for option in options for word in ("--kafka-option", option)]
        return sender_options(parser.parse_args(["--bootstrap-server", "there:9092", *words]))

    assert sender() == {"bootstrap.servers": "there:9092", "client.id": "barnabas-feeder"}
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'
    secure = ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", f"sasl.jaas.config={login}", "client.id=c")
    assert sender(*secure) == {
        "bootstrap.servers": "there:9092",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "a",
        "sasl.password": "b",
        "client.id": "c",
    }
    with pytest.raises(ConfigError, match=r"/nowhere is unusable"):
        sender("security.protocol=SSL", "ssl.truststore.location=/nowhere")


@pytest.mark.parametrize(
    ("words", "table_format"),
    [
        ("", "delta"),
        ("--tables postgresql://me@there/site", "postgresql"),
        ("--tables postgresql://me@there/site --format postgresql", "postgresql"),
        ("--tables hdfs://there/site --format iceberg", "iceberg"),
    ],
)
def test_tables_have_the_format_of_their_place_unless_told(words: str, table_format: str):
    parser = argparse.ArgumentParser()
    add_table_options(parser)
    arguments = parser.parse_args(words.split())
    settle_format(arguments)
    assert arguments.format == table_format


@pytest.mark.parametrize("words", ["--tables postgresql://me@there/site --format delta", "--format postgresql"])
def test_a_place_that_has_no_tables_of_a_format_is_refused(words: str):
    parser = argparse.ArgumentParser()
    add_table_options(parser)
    with pytest.raises(PlanError, match="have the format postgresql"):
        settle_format(parser.parse_args(words.split()))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("generate --rate nan", "--rate: nan must be a number from 0"),
        ("generate --rate inf --duration 60", "--rate: inf must be a number from 0"),
        ("replay access.log --rate -1", "--rate: -1 must be a number from 0"),
        ("replay access.log --rate x", "--rate: x must be a number from 0"),
        ("generate --partitions -3 --duration 60", "--partitions: -3 must be a whole number from 1 to 100000"),
        ("collect --interval nan", "--interval: nan must be a number from 0"),
        ("collect --interval 0 --bootstrap-server 127.0.0.1:1 --give-up 0", "--interval 0: must be more than 0"),
        ("run load --topics a --bootstrap-server 127.0.0.1:1 --metrics-port 65536", "--metrics-port 65536: must be a"),
        ("run load --topics /(/ --bootstrap-server 127.0.0.1:1", "/(/ is not a valid regular expression: missing )"),
    ],
)
def test_impossible_values_are_refused_before_anything_starts(words: str, reason: str, capsys) -> None:
    assert main(words.split()) == REFUSED
    assert reason in capsys.readouterr().err
