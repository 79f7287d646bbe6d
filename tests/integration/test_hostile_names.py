"""What peers call things reaches the log: they can neither write lines of their own in it nor fill the disk with it."""

import base64
import contextlib
import json
import socket
import time

from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.testing import Broker
from tests.integration.hostile_peers import frame_of, read_answer
from tests.patience import PATIENCE_S

AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
FORGED = "2026-01-01 00:00:00,000 INFO    all is well  [barnabas.server.node]"


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
            broker,
            [frame_of(SaslHandshakeRequest("OAUTHBEARER"), 1), frame_of(SaslAuthenticateRequest(first), 1)],
        )
    lines = broker.log_text().splitlines()
    assert FORGED not in lines
    (told,) = [line for line in lines if "a login from" in line]
    assert rf"authorization id (eve\n{FORGED[:10]}" in told
    assert r"\x1b[2J" in told
