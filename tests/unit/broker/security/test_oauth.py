"""Tokens of OAUTHBEARER: whose they are, when they hold, who signed them, and where the keys come from."""

import base64
import contextlib
import json
import logging
from functools import partial
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from barnabas.broker.security.oauth.jwks import KeyRefresher
from barnabas.broker.security.oauth.signed import SignedTokens, parse_keys
from barnabas.broker.security.oauth.unsecured import UnsecuredTokens, is_asked_for
from barnabas.core.errors import ConfigError
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.security.sasl.client import unsecured_token
from barnabas.wire.security.sasl.mechanism import Identity
from barnabas.wire.security.sasl.oauthbearer import InvalidTokenError

NOW_MS = 1_600_000_000_000
NOW_S = NOW_MS // 1000
CLAIMS = {"sub": "alice", "exp": NOW_S + 60}

RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
SECRET = b"s" * 64


def described(key, kid, algorithm, **more):
    algorithms: dict[str, Any] = {
        "RS": jwt.algorithms.RSAAlgorithm,
        "ES": jwt.algorithms.ECAlgorithm,
        "Ed": jwt.algorithms.OKPAlgorithm,
    }
    made = algorithms[algorithm[:2]].to_jwk(key.public_key(), as_dict=True)
    return {**made, "kid": kid, **more}


DOCUMENT: dict[str, Any] = {
    "keys": [
        described(RSA, "rsa", "RS256", alg="RS256", use="sig"),
        described(EC, "ec", "ES256"),
        described(ED, "ed", "EdDSA"),
        described(RSA, "for-encryption", "RS256", use="enc"),
        {"kty": "oct", "kid": "secret", "k": base64.urlsafe_b64encode(SECRET).decode()},
        {"kty": "RSA", "kid": "broken", "n": "?"},
        "none",
    ]
}


def judge(audiences=(), issuer=None, document=DOCUMENT, user_claim="sub"):
    asked = []
    tokens = SignedTokens(lambda: NOW_MS, user_claim, audiences, issuer, 30_000, lambda: asked.append(1))
    tokens.keys = parse_keys(json.dumps(document).encode())
    tokens.asked = asked  # type: ignore[attr-defined]
    return tokens


def identify(tokens, token):
    return tokens.judge(token)()


def signed(claims=CLAIMS, key=RSA, algorithm="RS256", kid: str | None = "rsa"):
    return jwt.encode(claims, key, algorithm, headers={"kid": kid} if kid else None)


@pytest.mark.parametrize(("key", "algorithm", "kid"), [(RSA, "RS256", "rsa"), (EC, "ES256", "ec"), (ED, "EdDSA", "ed")])
def test_a_signed_token_says_who_it_is(key, algorithm, kid):
    assert identify(judge(), signed(CLAIMS, key, algorithm, kid)) == Identity("alice", expires_ms=NOW_MS + 60_000)


def test_a_single_key_needs_no_name():
    alone = judge(document={"keys": DOCUMENT["keys"][:1]})
    assert identify(alone, signed(kid=None)).name == "alice"
    with pytest.raises(InvalidTokenError):
        identify(judge(), signed(kid=None))


BAD = {
    "empty": "",
    "no JSON": "a.b.c",
    "dots": "....",
    "another key": signed(key=rsa.generate_private_key(65537, 2048)),
    "another algorithm of the key": signed(algorithm="RS512"),
    "another padding": signed(algorithm="PS256"),
    "another kind of key": signed(kid="ec"),
    "an unknown key": signed(kid="other"),
    "a key for both sides": signed(kid="secret", key=SECRET, algorithm="HS256"),
    "a key for encryption": signed(kid="for-encryption"),
    "cut short": signed()[:-4],
    "not signed": jwt.encode(CLAIMS, None, "none", headers={"kid": "rsa"}),
    "signed with the public key": jwt.encode(CLAIMS, b"x" * 300, "HS256", headers={"kid": "rsa"}),
    "expired": signed({**CLAIMS, "exp": NOW_S - 31}),
    "not yet": signed({**CLAIMS, "nbf": NOW_S + 31}),
    "made later": signed({**CLAIMS, "iat": NOW_S + 31}),
    "ends before it begins": signed({**CLAIMS, "iat": NOW_S + 20, "exp": NOW_S + 10}),
    "no end": signed({"sub": "alice"}),
    "no user": signed({"exp": NOW_S + 60}),
    "an empty user": signed({**CLAIMS, "sub": ""}),
    "an end that is a text": signed({**CLAIMS, "exp": "soon"}),
    "an end that is a truth": signed({**CLAIMS, "exp": True}),
    "an end that never comes": signed({**CLAIMS, "exp": 1e300}),
    "an end before time": signed({**CLAIMS, "exp": -5}),
    "an end of 401 digits": signed({**CLAIMS, "exp": 10**400}),
    "a beginning of 401 digits": signed({**CLAIMS, "nbf": -(10**400)}),
    "half a letter": signed({**CLAIMS, "sub": "\ud800"}),
    "a very long user": signed({**CLAIMS, "sub": "x" * 1_025}),
}


@pytest.mark.parametrize("what", list(BAD))
def test_a_token_that_proves_nothing(what):
    token = BAD[what]
    with pytest.raises(InvalidTokenError) as failure:
        identify(judge(), token)
    assert len(token) < 10 or token not in str(failure.value)


# What JSON can say in the place of anything: kinds, numbers without end, texts that are none, depths.
HOSTILE = (
    *("null", "true", "0", "-1", "1e400", "-1e400", "1" + "0" * 400, "-1" + "0" * 400, "1" + "0" * 5_000),
    *("NaN", "Infinity", "-Infinity", '""', '" "', '"\\ud800"', '"\\u0000"', '"a\\nb"', f'"{"x" * 10_000}"'),
    *("[]", "[[]]", "[1,null,{}]", "{}", '{"a":{}}', '["kafka"]', '[["kafka"]]', "[" * 2_000 + "]" * 2_000),
    *('"none"', '"HS256"', '["RS256"]', '["b64"]', '["exp"]'),
)
GOOD_HEADER = {"alg": '"RS256"', "kid": '"rsa"'}
GOOD_CLAIMS = {"sub": '"alice"', "exp": str(NOW_S + 60), "iss": '"https://idp"', "aud": '"kafka"', "scope": '"read"'}
FIELDS = (
    *(("header", each) for each in ("alg", "kid", "typ", "crit", "b64", "jwk", "jku", "x5c", "zip", "other")),
    *(("claims", each) for each in ("sub", "exp", "iat", "nbf", "iss", "aud", "jti", "scope", "other")),
)


def as_json(fields):
    return "{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}"


def signed_text(header, claims):
    parts = [base64.urlsafe_b64encode(each.encode()).rstrip(b"=") for each in (header, claims)]
    signature = RSA.sign(b".".join(parts), PKCS1v15(), SHA256())
    return b".".join((*parts, base64.urlsafe_b64encode(signature).rstrip(b"="))).decode()


@pytest.mark.parametrize(("part", "field"), FIELDS)
@pytest.mark.parametrize("value", HOSTILE, ids=lambda each: each[:12])
def test_a_hostile_field_is_a_bad_token_or_none_that_matters(part, field, value):
    header, claims = dict(GOOD_HEADER), dict(GOOD_CLAIMS)
    (header if part == "header" else claims)[field] = value
    nobody_signed = unsecured_text(as_json({**header, "alg": '"none"'} if field != "alg" else header), as_json(claims))
    for says, token in (
        (partial(identify, judge()), signed_text(as_json(header), as_json(claims))),
        (partial(identify, judge(["kafka"], "https://idp")), signed_text(as_json(header), as_json(claims))),
        (unsecured(RequiredScope="read").identify, nobody_signed),
    ):
        with contextlib.suppress(InvalidTokenError):
            assert 0 < len(says(token).name.encode()) <= 1_024


@pytest.mark.parametrize("value", HOSTILE, ids=lambda each: each[:12])
def test_a_hostile_field_of_a_key_costs_no_other_key(value):
    good = as_json({name: json.dumps(each) for name, each in DOCUMENT["keys"][0].items()})
    for described_key in DOCUMENT["keys"][:3]:
        for field in (*described_key, "use", "alg", "key_ops", "x5c"):
            bad = as_json({**{name: json.dumps(each) for name, each in described_key.items()}, field: value})
            try:
                keys = parse_keys(f'{{"keys":[{bad},{good}]}}'.encode())
            except ConfigError:
                # What no JSON reader takes is no document.
                with pytest.raises((ValueError, RecursionError)):
                    json.loads(value)
            else:
                assert "rsa" in keys


def test_clocks_may_be_a_little_off():
    assert identify(judge(), signed({**CLAIMS, "exp": NOW_S - 29})).name == "alice"
    assert identify(judge(), signed({**CLAIMS, "nbf": NOW_S + 29, "iat": NOW_S + 29})).name == "alice"


def test_issuer_and_audience_are_looked_at_where_they_are_set():
    claims = {**CLAIMS, "iss": "https://idp", "aud": ["kafka", "else"]}
    assert identify(judge(), signed(claims)).name == "alice"
    assert identify(judge(["kafka"], "https://idp"), signed(claims)).name == "alice"
    for strict in (judge(["other"]), judge([], "https://other")):
        with pytest.raises(InvalidTokenError):
            identify(strict, signed(claims))
    with pytest.raises(InvalidTokenError):
        identify(judge(["kafka"]), signed())


def test_the_user_may_stand_in_another_claim():
    assert identify(judge(user_claim="email"), signed({**CLAIMS, "email": "a@b"})).name == "a@b"


def test_an_unknown_key_asks_for_new_ones():
    tokens = judge()
    with pytest.raises(InvalidTokenError):
        identify(tokens, signed(kid="new"))
    assert tokens.asked == [1]


@pytest.mark.parametrize("document", [b"", b"[]", b"{}", b'{"keys":5}', b'{"keys":[]}', b'{"keys":[{"kty":"oct"}]}'])
def test_a_document_that_holds_no_key(document):
    with pytest.raises(ConfigError):
        parse_keys(document)


# --- where the keys come from


class Provider:
    def __init__(self):
        self.documents = []
        self.clock = ManualClock(NOW_MS)
        self.executor = ManualExecutor()
        self.refresher = KeyRefresher(
            "https://idp/keys", self.read, self.executor, self.clock, self.clock, 60_000, (100, 300)
        )
        self.tokens = SignedTokens(self.clock.now_ms, "sub", (), None, 0, self.refresher.want)
        self.refresher.serve(self.tokens)
        self.reads = 0

    def read(self, url):
        self.reads += 1
        document = self.documents.pop(0)
        if isinstance(document, Exception):
            raise document
        return json.dumps(document).encode()

    def advance(self, by_ms):
        self.clock.advance(by_ms)
        self.executor.run_all()


def keys(*kids):
    return {"keys": [described(EC, kid, "ES256") for kid in kids]}


def test_keys_are_read_at_the_start_and_again():
    provider = Provider()
    provider.documents = [keys("a"), keys("a", "b")]
    provider.refresher.refresh()
    provider.executor.run_all()
    assert list(provider.tokens.keys) == ["a"]
    provider.advance(60_000)
    assert list(provider.tokens.keys) == ["a", "b"]


def test_a_failure_keeps_the_keys_and_is_tried_again_later_and_later(caplog):
    caplog.set_level(logging.WARNING)
    provider = Provider()
    provider.documents = [keys("a"), OSError("down"), {"keys": []}, OSError("down"), OSError("down"), keys("b")]
    provider.refresher.refresh()
    provider.executor.run_all()
    provider.advance(60_000)
    for pause_ms in (100, 200, 300, 300):
        assert list(provider.tokens.keys) == ["a"]
        reads = provider.reads
        provider.advance(pause_ms - 1)
        assert provider.reads == reads
        provider.advance(1)
    assert list(provider.tokens.keys) == ["b"]
    assert caplog.text.count("cannot read the public keys") == 4


def test_an_unknown_key_has_them_read_again_but_not_for_each_login():
    provider = Provider()
    provider.documents = [keys("a"), keys("a", "b"), keys("a", "c")]
    provider.refresher.refresh()
    provider.executor.run_all()
    for _ in range(3):
        with pytest.raises(InvalidTokenError):
            identify(provider.tokens, signed(CLAIMS, EC, "ES256", "c"))
        provider.executor.run_all()
    assert (provider.reads, list(provider.tokens.keys)) == (2, ["a", "b"])
    provider.advance(10_000)
    with pytest.raises(InvalidTokenError):
        identify(provider.tokens, signed(CLAIMS, EC, "ES256", "c"))
    provider.executor.run_all()
    assert identify(provider.tokens, signed(CLAIMS, EC, "ES256", "c")).name == "alice"


def test_after_the_end_nothing_is_read():
    provider = Provider()
    provider.documents = [keys("a")]
    provider.refresher.refresh()
    provider.executor.run_all()
    provider.refresher.close()
    provider.advance(1_000_000)
    assert provider.reads == 1


# --- tokens that nobody signed


def unsecured_text(header, claims):
    parts = [base64.urlsafe_b64encode(each.encode()).rstrip(b"=").decode() for each in (header, claims)]
    return ".".join((*parts, ""))


def unsecured(**options):
    return UnsecuredTokens({f"unsecuredValidator{name}": value for name, value in options.items()}, lambda: NOW_MS)


def line(user="alice", now_ms=NOW_MS, **more):
    return unsecured_token({"unsecuredLoginStringClaim_sub": user, **more}, now_ms)


def test_an_unsecured_token_is_believed():
    assert unsecured().identify(line()) == Identity("alice", expires_ms=NOW_MS + 3_600_000)
    assert unsecured(PrincipalClaimName="n").identify(line(unsecuredLoginStringClaim_n="bob")).name == "bob"


def test_an_unsecured_token_needs_the_scope():
    token = line(unsecuredLoginListClaim_scope="|read|write")
    assert unsecured(RequiredScope="read write").identify(token).name == "alice"
    with pytest.raises(InvalidTokenError) as failure:
        unsecured(RequiredScope="read admin").identify(token)
    assert (failure.value.status, failure.value.scope) == ("insufficient_scope", "read admin")


@pytest.mark.parametrize(
    "token", [line(now_ms=NOW_MS - 3_600_000), signed(), "", "a.b.", "e30.e30.", line()[:-1], "W10.W10."]
)
def test_an_unsecured_token_that_proves_nothing(token):
    with pytest.raises(InvalidTokenError):
        unsecured().identify(token)


def test_a_signed_token_is_none_that_nobody_signed():
    with pytest.raises(InvalidTokenError):
        unsecured().identify(signed())


def test_unsecured_tokens_have_to_be_asked_for():
    assert is_asked_for({"unsecuredLoginStringClaim_sub": "x"})
    assert is_asked_for({"unsecuredValidatorRequiredScope": "x"})
    assert not is_asked_for({"username": "x"})
    with pytest.raises(ConfigError):
        unsecured(AllowableClockSkewMs="-1")
