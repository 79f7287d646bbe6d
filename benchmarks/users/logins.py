"""Logins per second: connect, handshake for SCRAM, two messages each way, one request as the user, close.

The client's keys are computed once, because the client's hashing is not measured; each login has its own nonce and
proof. The figures are the broker's CPU per login, and the logins per second of one client.
"""

import hmac
import itertools
import time
from base64 import b64encode
from collections.abc import Callable
from hashlib import new as new_hash
from hashlib import pbkdf2_hmac

from barnabas.wire.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.wire.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest
from benchmarks.load.lines import Line
from benchmarks.load.process import CPU_MICRO, cpu
from benchmarks.log_numbers.brokers import Measured
from benchmarks.whole.wire import Peer
from tools.kafka.server import free_port

Figures = dict[str, float]

_USER, _PASSWORD, _SALT, _ITERATIONS = "bench", b"secret", b"a salt", 4096
# By mechanism: its number in the protocol, and its hash.
_MECHANISMS = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
# A JVM continues compiling during this many logins.
_WARMUP_COUNT, _COUNT = 3_000, 2_000
_BROKER, _SET = 4, 0
_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_CONFIG = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": ",".join(_MECHANISMS),
    **{f"listener.name.users.{mechanism.lower()}.sasl.jaas.config": _MODULE for mechanism in _MECHANISMS},
}

LINES = (
    Line("scram_256_us", f"a login by SCRAM-SHA-256, with its connection: {CPU_MICRO}", 0),
    Line("scram_512_us", f"the same by SCRAM-SHA-512: {CPU_MICRO}", 0),
    Line("scram_per_s", "logins by SCRAM-SHA-256, one after the other: per second", 0, None, False),
)


def logins(new_broker: Callable[[dict[str, str]], Measured]) -> Figures:
    """Logins with both hashes."""
    broker = new_broker(_CONFIG)
    try:
        broker.start()
        address = _open_listener(broker)
        _add_user(broker)
        figures = {}
        for mechanism, (_, hash_name) in _MECHANISMS.items():
            client = _Client(address, mechanism, hash_name)
            client.wait_until_known()
            for _ in range(_WARMUP_COUNT):
                client.log_in()
            before_s, start = cpu(broker.pid), time.perf_counter()
            for _ in range(_COUNT):
                client.log_in()
            key = f"scram_{hash_name.removeprefix('sha')}"
            figures[f"{key}_us"] = (cpu(broker.pid) - before_s) / _COUNT * 1e6
            if hash_name == "sha256":
                figures["scram_per_s"] = _COUNT / (time.perf_counter() - start)
        return figures
    finally:
        broker.close()


class _Client:
    """Logs in repeatedly."""

    def __init__(self, address: str, mechanism: str, hash_name: str) -> None:
        self._address = address
        self._mechanism = mechanism
        self._hash = hash_name
        salted = pbkdf2_hmac(hash_name, _PASSWORD, _SALT, _ITERATIONS)
        self._key = hmac.digest(salted, b"Client Key", hash_name)
        self._stored_key = new_hash(hash_name, self._key).digest()
        self._numbers = itertools.count()

    def wait_until_known(self) -> None:
        deadline = time.monotonic() + 60
        while not self._tries():
            if time.monotonic() > deadline:
                raise RuntimeError(f"nobody can log in by {self._mechanism}")

    def log_in(self) -> None:
        if not self._tries():
            raise RuntimeError(f"a login by {self._mechanism} failed")

    def _tries(self) -> bool:
        peer = Peer(self._address)
        try:
            peer.ask(SaslHandshakeRequest(self._mechanism), 1)
            bare = f"n={_USER},r=nonce{next(self._numbers)}"
            answer = peer.ask(SaslAuthenticateRequest(f"n,,{bare}".encode()), 1)
            if answer.error_code:
                return False
            challenge = bytes(answer.auth_bytes).decode()
            without_proof = f"c=biws,{challenge.partition(',')[0]}"
            message = f"{bare},{challenge},{without_proof}".encode()
            signature = hmac.digest(self._stored_key, message, self._hash)
            proof = bytes(a ^ b for a, b in zip(self._key, signature, strict=True))
            final = f"{without_proof},p={b64encode(proof).decode()}"
            answer = peer.ask(SaslAuthenticateRequest(final.encode()), 1)
            if answer.error_code:
                return False
            peer.ask(ApiVersionsRequest(), 0)
            return True
        finally:
            peer.close()


def _open_listener(broker: Measured) -> str:
    """Open the listener for users while the broker runs; return its address."""
    users = f"127.0.0.1:{free_port()}"
    peer = Peer(broker.address)
    listeners = AlterableConfig("listeners", _SET, f"PLAINTEXT://{broker.address},USERS://{users}")
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(_BROKER, "0", [listeners])])
    (result,) = peer.ask(request, 1).responses
    peer.close()
    if result.error_code:
        raise RuntimeError(f"the listener for users could not be opened: {result.error_message}")
    deadline = time.monotonic() + 60
    while True:
        try:
            Peer(users).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            continue
        return users


def _add_user(broker: Measured) -> None:
    peer = Peer(broker.address)
    upsertions = [
        ScramCredentialUpsertion(_USER, code, _ITERATIONS, _SALT, pbkdf2_hmac(hash_name, _PASSWORD, _SALT, _ITERATIONS))
        for code, hash_name in _MECHANISMS.values()
    ]
    (result,) = peer.ask(AlterUserScramCredentialsRequest(upsertions=upsertions), 0).results
    peer.close()
    if result.error_code:
        raise RuntimeError(f"the user could not be added: {result.error_message}")
