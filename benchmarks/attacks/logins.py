"""Unauthenticated peers that repeatedly start logins with the longest possible messages.

24 connections send a first message of the maximum length, close on the answer, and start again. The SCRAM message names
an unknown user; the OAUTHBEARER token names a key and has an invalid signature.
"""

import base64
import contextlib
import json
import threading

from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest
from benchmarks.whole.wire import Peer, frame

PROPERTIES = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
    "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredValidatorPrincipalClaimName="sub";'
    ),
}
_CONNECTION_COUNT = 24
# The longest message that the broker processes, and one that fills a frame.
_LENGTHS = {"SCRAM-SHA-256": (4_000, 60_000), "OAUTHBEARER": (16_000, 60_000)}


def begin_logins(address: str, protocol: str) -> None:
    """Start logins with all mechanisms, forever."""
    kinds = [(kind, length) for kind, lengths in _LENGTHS.items() for length in lengths]
    threads = [
        threading.Thread(target=_begin, args=(address, *kinds[number % len(kinds)]))
        for number in range(_CONNECTION_COUNT)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _begin(address: str, kind: str, length: int) -> None:
    shake, prove = frame(SaslHandshakeRequest(kind), 1), frame(SaslAuthenticateRequest(_first_message(kind, length)), 1)
    while True:
        with contextlib.suppress(OSError), contextlib.closing(Peer(address)) as peer:
            for request in (shake, prove):
                peer.send(request)
                peer.receive()


def _first_message(kind: str, length: int) -> bytes:
    """Return an unauthenticated peer's first message, of about that length in bytes."""
    if kind == "SCRAM-SHA-256":
        return b"n,,n=%b,r=nonce" % (b"x" * (length - 20))
    header, signature = _encoded({"alg": "RS256", "kid": "k"}), base64.urlsafe_b64encode(bytes(256)).rstrip(b"=")
    claims = _encoded({"sub": "x" * ((length - 500) * 3 // 4)})
    return b"n,,\x01auth=Bearer %b\x01\x01" % b".".join((header, claims, signature))


def _encoded(content: dict[str, str]) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=")
