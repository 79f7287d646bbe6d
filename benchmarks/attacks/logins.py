"""`python -m benchmarks.attacks.logins`: strangers who begin logins again and again, with all that they may say.

24 connections, half of them by SCRAM-SHA-256 and half by OAUTHBEARER, say a first message as long as it is let through,
hang up when they are answered, and begin again. SCRAM's is a name that nobody has; OAUTHBEARER's a token that names the
broker's key and is signed by nobody. Beside them an honest client that has logged in produces small records, one after
the other, 200 a second, and once a second another one logs in. The strangers are as nice as can be: on a network they
would have machines of their own.

`--bytes` sets the length: without it the longest of some that a broker answers with a challenge is taken, or 520,000.
"""

import argparse
import base64
import contextlib
import ctypes
import json
import multiprocessing
import os
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from barnabas.protocol.api_keys import FIRST_FLEXIBLE_VERSION
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.protocol.wire import Message, WireBuffer
from barnabas.records.builder import BatchBuilder
from barnabas.security.sasl.scram import SHA_256, ScramClient
from barnabas.testing import Broker

SCRAM, OAUTHBEARER = "SCRAM-SHA-256", "OAUTHBEARER"
CONNECTION_COUNT = 24
LENGTHS = (520_000, 260_000, 130_000, 65_000, 32_000, 16_000, 8_000, 4_000, 2_000, 1_000)
USER, PASSWORD = "alice", "alice-secret"
TIMEOUT_S = 30
PAUSE_S = 0.005
LONGEST_STALL_MS = 50
MOST_GROWTH_MB = 50
MOST_SLOWER = 2.0


class Times(NamedTuple):
    """What an honest client saw: quantiles in ms, of produce requests and of logins, and how many logins failed."""

    p50: float
    p99: float
    count: int
    login_p50: float
    login_worst: float
    failed_login_count: int


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attacks.logins", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long the attack goes on (default 60)")
    parser.add_argument("--bytes", type=int, default=0, help="the length of what the strangers say")
    parser.add_argument("--only", choices=(SCRAM, OAUTHBEARER), help="by this mechanism alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, _broker(Path(directory)) as broker:
        _prepare(broker)
        kinds = [arguments.only] if arguments.only else [SCRAM, OAUTHBEARER]
        attacks = {kind: first_message(kind, arguments.bytes or _longest(broker, kind)) for kind in kinds}
        honest_alone(broker, 2)
        alone = honest_alone(broker, min(arguments.seconds, 20))
        before_mb = _resident_mb(broker.pid)
        broker.stalls_of_late_ms()
        with strangers(broker, attacks) as attempts:
            under = honest_alone(broker, arguments.seconds)
            attempt_count = sum(attempts)
        stall_ms = max(broker.stalls_of_late_ms())
        after_mb = _resident_mb(broker.pid)
    print(", ".join(f"{kind}: {len(message):,} bytes" for kind, message in attacks.items()))
    print(f"{attempt_count / arguments.seconds:,.0f} logins begun a second")
    print("| | p50 ms | p99 ms | requests/s | login p50 ms | longest login ms | failed logins |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, seen, seconds in (("alone", alone, min(arguments.seconds, 20)), ("attacked", under, arguments.seconds)):
        print(f"| {name} | {seen.p50:.2f} | {seen.p99:.2f} | {seen.count / seconds:,.0f} | {seen.login_p50:.1f} | "
              f"{seen.login_worst:.1f} | {seen.failed_login_count} |")  # fmt: skip
    print(f"longest stall {stall_ms} ms; resident {before_mb:.0f} MB before, {after_mb:.0f} after")
    missed = [
        goal
        for goal, is_met in (
            (f"p99 at most {MOST_SLOWER:g}x", under.p99 <= MOST_SLOWER * alone.p99),
            (f"no stall over {LONGEST_STALL_MS} ms", stall_ms <= LONGEST_STALL_MS),
            (f"memory flat within {MOST_GROWTH_MB} MB", after_mb - before_mb <= MOST_GROWTH_MB),
            ("every honest login succeeds", not under.failed_login_count),
        )
        if not is_met
    ]
    print("missed: " + ", ".join(missed) if missed else "all goals are met")
    return 1 if missed else 0


# --- the broker


def _broker(directory: Path) -> Broker:
    key = rsa.generate_private_key(65537, 2048)
    described = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    keys = directory / "jwks.json"
    keys.write_text(json.dumps({"keys": [{**described, "kid": "k", "alg": "RS256"}]}))
    modules = "org.apache.kafka.common.security"
    return Broker(
        security_protocol="SASL_PLAINTEXT",
        config={
            "sasl.enabled.mechanisms": f"PLAIN,{SCRAM},{OAUTHBEARER}",
            "security.inter.broker.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
                f'{modules}.plain.PlainLoginModule required username="broker" password="b" user_broker="b";'
            ),
            "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        },
    )


def _prepare(broker: Broker) -> None:
    salted = SHA_256.salted_password(PASSWORD.encode(), b"salt", 4096)
    with _connected(broker) as sock:
        _shake(sock, "PLAIN")
        _prove(sock, b"\0broker\0b")
        _ask(
            sock,
            AlterUserScramCredentialsRequest(upsertions=[ScramCredentialUpsertion(USER, 1, 4096, b"salt", salted)]),
            0,
        )
        _ask(sock, CreateTopicsRequest([CreatableTopic("t", 1, 1)], 30_000), 4)


def _resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


# --- strangers


def first_message(kind: str, length: int) -> bytes:
    """What a stranger says first, of about that length in bytes."""
    if kind == SCRAM:
        return b"n,,n=%b,r=nonce" % (b"x" * (length - 20))
    around = b"n,,\x01auth=Bearer %b\x01\x01"
    header = _encoded({"alg": "RS256", "kid": "k"})
    signature = base64.urlsafe_b64encode(bytes(256)).rstrip(b"=")
    room = length - len(around) - len(header) - len(signature) - 2
    claims = _encoded({"sub": "x" * (room * 3 // 4 - 16)})
    return around % b".".join((header, claims, signature))


def _encoded(content: dict[str, str]) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=")


def _longest(broker: Broker, kind: str) -> int:
    for length in LENGTHS:
        with contextlib.suppress(OSError), _connected(broker) as sock:
            _shake(sock, kind)
            if _prove(sock, first_message(kind, length)).auth_bytes:
                return length
    return LENGTHS[0]


@contextlib.contextmanager
def strangers(broker: Broker, attacks: dict[str, bytes]) -> Iterator["ctypes.Array[ctypes.c_longlong]"]:
    """Attack as long as the block runs; how many logins were begun, by mechanism."""
    context = multiprocessing.get_context("spawn")
    # Without a lock, which a process that is ended could hold.
    attempts = context.RawArray("q", len(attacks))
    count = CONNECTION_COUNT // len(attacks)
    processes = [
        context.Process(
            target=_attack, args=(broker.host, broker.port, kind, message, count, attempts, number), daemon=True
        )
        for number, (kind, message) in enumerate(attacks.items())
    ]
    for process in processes:
        process.start()
    deadline = time.monotonic() + TIMEOUT_S
    while min(attempts) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    attempts[:] = [0] * len(attempts)
    try:
        yield attempts
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _attack(host: str, port: int, kind: str, message: bytes, count: int, attempts, number: int) -> None:
    shake, prove = _frame(SaslHandshakeRequest(kind), 1), _frame(SaslAuthenticateRequest(message), 1)

    os.nice(19)

    def run() -> None:
        while True:
            with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=TIMEOUT_S) as sock:
                sock.sendall(shake)
                _read(sock)
                sock.sendall(prove)
                _read(sock)
            attempts[number] += 1

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# --- who is honest


def honest_alone(broker: Broker, seconds: float) -> Times:
    """Produce for some time, and log in now and again."""
    batch = BatchBuilder()
    batch.append(int(time.time() * 1000), b"key", b"v" * 100)
    records = bytes(batch.build())
    frame = _frame(ProduceRequest(None, 1, 10_000, [TopicProduceData("t", [PartitionProduceData(0, records)])]), 7)
    logins: list[float] = []
    is_over = threading.Event()
    thread = threading.Thread(target=_log_in_often, args=(broker, logins, is_over))
    thread.start()
    taken = []
    with _connected(broker) as sock:
        _log_in(sock)
        end = time.perf_counter() + seconds
        while (begun := time.perf_counter()) < end:
            sock.sendall(frame)
            _read(sock)
            taken.append(time.perf_counter() - begun)
            time.sleep(PAUSE_S)
    is_over.set()
    thread.join()
    taken.sort()
    worked = sorted(each for each in logins if each >= 0) or [float("nan")]
    return Times(
        _quantile_ms(taken, 0.5),
        _quantile_ms(taken, 0.99),
        len(taken),
        _quantile_ms(worked, 0.5),
        worked[-1] * 1000,
        sum(each < 0 for each in logins),
    )


def _log_in_often(broker: Broker, taken: list[float], is_over: threading.Event) -> None:
    while not is_over.wait(1):
        begun = time.perf_counter()
        try:
            with _connected(broker) as sock:
                _log_in(sock)
            taken.append(time.perf_counter() - begun)
        except (OSError, ValueError):
            taken.append(-1.0)


def _log_in(sock: socket.socket) -> None:
    client = ScramClient(SHA_256, USER, PASSWORD, base64.b64encode(time.monotonic_ns().to_bytes(8)).decode())
    _shake(sock, SCRAM)
    response = client.first()
    while not client.is_complete:
        answer = _prove(sock, response)
        if answer.error_code:
            raise ValueError(answer.error_message)
        response = client.answer(answer.auth_bytes)


# --- the wire


def _connected(broker: Broker) -> socket.socket:
    sock = socket.create_connection((broker.host, broker.port), timeout=TIMEOUT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _shake(sock: socket.socket, mechanism: str) -> None:
    _ask(sock, SaslHandshakeRequest(mechanism), 1)


def _prove(sock: socket.socket, response: bytes) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse.decode(1, memoryview(_ask(sock, SaslAuthenticateRequest(response), 1)), 4)[0]


def _ask(sock: socket.socket, request: Message, version: int) -> bytes:
    sock.sendall(_frame(request, version))
    return _read(sock)


def _frame(request: Message, version: int) -> bytes:
    out = WireBuffer()
    request.encode(version, out)
    is_flexible = version >= FIRST_FLEXIBLE_VERSION[request.API_KEY]
    header = struct.pack(">hhih", request.API_KEY, version, 7, 6) + b"attack" + b"\0" * is_flexible
    return struct.pack(">i", len(header) + len(out)) + header + bytes(out)


def _read(sock: socket.socket) -> bytes:
    size = int.from_bytes(_read_exactly(sock, 4))
    return _read_exactly(sock, size)


def _read_exactly(sock: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise ConnectionError("the broker closed the connection")
        data += part
    return bytes(data)


def _quantile_ms(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


if __name__ == "__main__":
    sys.exit(main())
