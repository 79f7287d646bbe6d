"""Logins that are refused though nobody typed anything wrong: tokens and certificates whose time is over."""

import asyncio
import ssl
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from barnabas.testing.certificates import Authority
from barnabas.wire.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from tests.simulation.explain_causes import cause
from tests.simulation.explain_clients import REFUSED, USERS, Acts, log_in
from tests.simulation.explain_world import World

OAUTH = USERS | {
    "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
    "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": (
        'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredValidatorScope="";'
    ),
}


@cause("refused", "refused-login:its token is refused: it has expired", happened=True, settings=OAUTH)
async def expired_token(world: World) -> Acts:
    ended_s = world.simulation.clock.now_ms() // 1_000 - world.dice.randint(1, 10_000)
    claims = {"unsecuredLoginStringClaim_sub": "alice", "unsecuredLoginNumberClaim_exp": str(ended_s)}
    await log_in(world, "alice", "", "OAUTHBEARER", **claims)
    yield REFUSED


TOKENS = USERS | {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256", "delegation.token.master.key": "master"}


@cause("refused", "refused-login:its delegation token has expired", happened=True, settings=TOKENS)
async def expired_delegation_token(world: World) -> Acts:
    life_s = world.dice.randint(1, 60)
    channel = await world.pool("owner", "alice").any_broker()
    request = CreateDelegationTokenRequest(max_lifetime_ms=life_s * 1_000)
    made = await channel.send(request, CreateDelegationTokenResponse, max_version=2)
    await asyncio.sleep(life_s + world.dice.randint(1, 1_000))
    secret = b64encode(made.hmac).decode()
    await log_in(world, made.token_id, secret, "SCRAM-SHA-256", tokenauth="true")
    yield REFUSED


AUTHORITY = Authority()
_BROKER = AUTHORITY.issue("b1", hosts=["b1"])
TLS = {
    "listeners": "PLAINTEXT://b1:9092,SSL://b1:9093",
    "ssl.client.auth": "required",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.key": _BROKER.key_pem().decode(),
    "ssl.keystore.certificate.chain": _BROKER.certificate_pem.decode(),
    "ssl.truststore.type": "PEM",
    "ssl.truststore.certificates": AUTHORITY.certificate_pem.decode(),
}


@cause(
    "refused",
    "refused-login:the TLS handshake failed: the certificate is refused: certificate has expired",
    happened=True,
    settings=TLS,
)
async def expired_certificate(world: World) -> Acts:
    context = ssl.create_default_context(cadata=AUTHORITY.certificate_pem.decode())
    with TemporaryDirectory() as directory:
        path = Path(directory) / "client.pem"
        path.write_bytes(AUTHORITY.issue("app", valid_days=(-2, -1)).pem())
        context.load_cert_chain(path)
    for _ in range(world.dice.randint(1, 3)):
        await shake_hands(world, context)
    yield REFUSED


async def shake_hands(world: World, context: ssl.SSLContext) -> None:
    """Begin to speak TLS, until the broker hangs up.

    Its keys and clock are real, so the bytes of a history differ from run to run.
    """
    reader, writer = await world.simulation.client("app").dial("b1", 9093)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="b1")
    while True:
        with suppress(ssl.SSLWantReadError):
            tls.do_handshake()
        writer.write(outgoing.read())
        try:
            data = await reader.read(65_536)
        except ConnectionResetError:
            # It had not read all when it hung up.
            data = b""
        if not data:
            writer.close()
            return
        incoming.write(data)
