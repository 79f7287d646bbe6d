"""What peers call things reaches the log: they can neither write lines of their own in it nor fill the disk with it."""

import base64
import contextlib
import json
import os
import pty
import socket
import subprocess
import sys
import time

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.integration.hostile_peers import ask, frame_of, new_topics, read_answer
from tests.patience import PATIENCE_S, until

AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
FORGED = "2026-01-01 00:00:00,000 INFO    all is well  [barnabas.broker.server.node]"


def exchange(broker: Broker, frames: list[bytes]) -> None:
    """Send requests one after the other and wait for their answers, or for the end of the connection."""
    with socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S) as sock, contextlib.suppress(OSError):
        for frame in frames:
            sock.sendall(frame)
            read_answer(sock)


def test_denied_requests_with_long_names_do_not_fill_the_disk() -> None:
    with Broker(config={"authorizer.class.name": AUTHORIZER}) as broker:
        exchange(broker, [frame_of(DescribeGroupsRequest(["payroll"]), 1)])
        before = broker.log_text()
        assert (
            "Principal = User:ANONYMOUS is Denied Operation = Describe from host = 127.0.0.1 on resource = "
            "Group:LITERAL:payroll for request = DescribeGroups with resourceRefCount = 1" in before
        )
        exchange(broker, [frame_of(DescribeGroupsRequest([f"{chr(1) * 32_000}{each}"]), 1) for each in range(200)])
    written = broker.log_text()[len(before) :]
    assert "lines like this one are left out" in written
    assert len(written) < 100_000


def test_an_authorization_id_writes_no_line_of_its_own() -> None:
    def part(claims: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")

    token = f"{part({'alg': 'none'})}.{part({'sub': 'eve', 'exp': int(time.time()) + 600})}."
    first = f"n,a=eve\n{FORGED.replace(chr(44), '=2C')}\n\x1b[2J,\x01auth=Bearer {token}\x01\x01".encode()
    config = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'unsecuredLoginStringClaim_sub="admin";'
        ),
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
    }
    with Broker(config=config, security_protocol="SASL_PLAINTEXT") as broker:
        exchange(
            broker, [frame_of(SaslHandshakeRequest("OAUTHBEARER"), 1), frame_of(SaslAuthenticateRequest(first), 1)]
        )
    lines = broker.log_text().splitlines()
    assert FORGED not in lines
    (told,) = [line for line in lines if "login from" in line]
    assert rf"authorization id (eve\n{FORGED[:10]}" in told
    assert r"\x1b[2J" in told


def test_a_failed_login_is_one_line_with_the_address_and_without_the_password() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    config = {
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
            f'{module} required username="admin" password="right-one" user_admin="right-one" user_alice="right-one";'
        ),
    }
    handshake = frame_of(SaslHandshakeRequest("PLAIN"), 1)
    with Broker(config=config, security_protocol="SASL_PLAINTEXT") as broker:
        for user in (b"alice", b"nobody"):
            exchange(broker, [handshake, frame_of(SaslAuthenticateRequest(b"\0" + user + b"\0wrong-one"), 1)])
    log = broker.log_text()
    failed = [line.split(" failed: ")[1] for line in log.splitlines() if "login from 127.0.0.1:" in line]
    assert len(failed) == 2
    assert failed[0] == failed[1]
    assert "wrong-one" not in log
    assert "right-one" not in log


def test_names_steer_no_terminal() -> None:
    evil = "eve\n\x1b[2J\x9b31m\u202e[red]"
    shown = r"eve\n\x1b[2J\x9b31m\u202e[red]"
    commit = OffsetCommitRequest(evil, topics=[OffsetCommitRequestTopic("t", [OffsetCommitRequestPartition(0, 1)])])
    deadline = time.monotonic() + PATIENCE_S
    with Broker() as broker:
        assert ask(broker, new_topics(["t"]), 4).topics[0].error_code == 0
        ask(broker, FindCoordinatorRequest(evil), 1)
        until(lambda: ask(broker, commit, 2, evil).topics[0].partitions[0].error_code == 0)
        for command in ("groups --list", "groups --describe --all-groups", "quotas top --once --seconds 3600"):
            arguments = [*command.split(), "--bootstrap-server", broker.bootstrap_servers]
            # The page of quotas shows a request once its second is over, and others may have been active before it.
            while shown not in (printed := on_terminal(arguments)):
                assert time.monotonic() < deadline, (command, printed)
            assert not [each for each in ("\x1b[2J", "\x9b", "\u202e") if each in printed], command


def on_terminal(arguments: list[str]) -> str:
    """What a command prints where its output is a terminal."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": "250", "TERM": "xterm"}
    command = [sys.executable, "-m", "barnabas.cli.main", *arguments]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        printed = b""
        # Linux reports the end of a terminal as an error.
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65_536):
                printed += part
        assert process.wait(PATIENCE_S) == 0, printed
    os.close(ours)
    return printed.decode()
