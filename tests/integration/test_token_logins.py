"""A running broker, tokens that were signed, and a provider that changes its keys."""

import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from barnabas.core.error_code import ErrorCode
from barnabas.wire.security.sasl.oauthbearer import OAuthBearerClient
from tests.compat.sasl_broker import MODULES, sasl_broker
from tests.patience import until


class Provider:
    """Signs tokens, and says by which keys in a file."""

    def __init__(self, path):
        self.path = path
        self.keys = {}

    def add_key(self, kid):
        self.keys[kid] = ec.generate_private_key(ec.SECP256R1())
        algorithm: Any = jwt.algorithms.ECAlgorithm
        public = [{**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid} for kid, key in self.keys.items()]
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"keys": public}))
        new.replace(self.path)

    def token(self, kid, lifetime_s=60, **claims):
        now_s = time.time()
        claims = {"sub": "alice", "aud": "kafka", "iss": "me", "iat": now_s, "exp": now_s + lifetime_s, **claims}
        return jwt.encode(claims, self.keys[kid], "ES256", headers={"kid": kid})


def logs_in(broker, token):
    with broker.connect() as wire:
        answer = wire.log_in_by(OAuthBearerClient(token), "OAUTHBEARER")
        return None if answer is None or answer.error_code != ErrorCode.NONE else answer.session_lifetime_ms


def test_signed_tokens_log_in_also_with_keys_that_come_later(tmp_path):
    provider = Provider(tmp_path / "jwks.json")
    provider.add_key("one")
    config = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.users.oauthbearer.sasl.jaas.config": f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.oauthbearer.jwks.endpoint.url": provider.path.as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka,other",
        "sasl.oauthbearer.expected.issuer": "me",
        "connections.max.reauth.ms": "3600000",
    }
    with sasl_broker(config) as broker:
        lifetime_ms = logs_in(broker, provider.token("one"))
        assert 0 < lifetime_ms <= 60_000
        for bad in ({"aud": "nobody"}, {"iss": "you"}, {"lifetime_s": -60}):
            assert logs_in(broker, provider.token("one", **bad)) is None
        assert logs_in(broker, jwt.encode({"sub": "alice", "exp": time.time() + 60}, None, "none")) is None
        provider.add_key("two")
        until(lambda: logs_in(broker, provider.token("two")) is not None)
        assert logs_in(broker, provider.token("one")) is not None
