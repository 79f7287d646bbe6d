"""The mechanisms, with the examples of their RFCs, and both sides against each other."""

import json
from base64 import b64decode, b64encode
from random import Random

import pytest

from barnabas.broker.security.decoy_credentials import DecoyCredentials
from barnabas.core.errors import ConfigError
from barnabas.wire.security.jaas import JaasEntry
from barnabas.wire.security.sasl import scram
from barnabas.wire.security.sasl.client import new_client
from barnabas.wire.security.sasl.credential import ScramCredential, new_user_salt
from barnabas.wire.security.sasl.mechanism import MECHANISMS, Identity, LoginError
from barnabas.wire.security.sasl.oauthbearer import InvalidTokenError, OAuthBearerClient, OAuthBearerServer
from barnabas.wire.security.sasl.plain import PlainClient, PlainServer, verifier
from barnabas.wire.security.sasl.scram import SHA_256, SHA_512, KnownUser, ScramClient, ScramServer

GENERAL = "Authentication failed: "
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")


def credential(mechanism=SHA_256, password="pencil", salt=SALT, iterations=4096):
    salted = mechanism.salted_password(password.encode(), salt, iterations)
    return scram.make_credential(mechanism, salted, salt, iterations)


def scram_server(mechanism=SHA_256, nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", name="user", **changes):
    user = KnownUser(credential(mechanism, **changes), Identity(name))
    decoys = DecoyCredentials(b"secret")

    def find(asked, is_token):
        return user if asked == name and not is_token else decoys.user(mechanism, asked, 4_096)

    return ScramServer(mechanism, find, nonce)


def log_in(client, server):
    response = client.first()
    while not server.is_complete:
        response = client.answer(server.answer(response))
    assert (client.is_complete, response) == (True, b"")
    return server.identity


RFC_7677 = [
    b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
]


@pytest.mark.parametrize("is_own", [True, False])
def test_the_last_message_names_the_nonce_of_this_login(is_own):
    server = scram_server()
    challenge = server.answer(RFC_7677[0])
    nonce = challenge[2:].split(b",")[0] if is_own else b"another"
    client_key = SHA_256.hmac(SHA_256.salted_password(b"pencil", SALT, 4096), b"Client Key")
    without_proof = b"c=biws,r=" + nonce
    # The proof is right for what is said.
    signature = SHA_256.hmac(SHA_256.hash(client_key), b",".join([RFC_7677[0][3:], challenge, without_proof]))
    proof = b64encode(bytes(one ^ other for one, other in zip(client_key, signature, strict=True)))
    if is_own:
        server.answer(without_proof + b",p=" + proof)
    else:
        with pytest.raises(LoginError, match="nonce"):
            server.answer(without_proof + b",p=" + proof)
    assert server.is_complete == is_own


def test_scram_sha_256_server_speaks_as_the_rfc():
    server = scram_server()
    assert server.answer(RFC_7677[0]) == RFC_7677[1]
    assert not server.is_complete
    assert server.answer(RFC_7677[2]) == RFC_7677[3]
    assert (server.is_complete, server.identity) == (True, Identity("user"))


def test_scram_sha_256_client_speaks_as_the_rfc():
    client = ScramClient(SHA_256, "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    assert client.first() == RFC_7677[0]
    assert client.answer(RFC_7677[1]) == RFC_7677[2]
    assert not client.is_complete
    assert client.answer(RFC_7677[3]) == b""
    assert client.is_complete


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512], ids=lambda each: each.name)
@pytest.mark.parametrize("name", ["alice", "a,b=c", "José", "=2C"])
def test_scram_both_sides(mechanism, name):
    client = ScramClient(mechanism, name, "p,=ä", "clientnonce")
    server = scram_server(mechanism, "servernonce", name, password="p,=ä", salt=b"salt", iterations=5000)
    assert log_in(client, server) == Identity(name)


def test_a_wrong_password_fails_with_the_proof():
    client = ScramClient(SHA_256, "user", "pen", "n")
    server = scram_server()
    final = client.answer(server.answer(client.first()))
    with pytest.raises(LoginError, match="Invalid client credentials") as failure:
        server.answer(final)
    assert not failure.value.is_told
    assert not server.is_complete


def failure_of(server, client):
    """How a login ends that is no good, and what the client was told before that, but for the salt."""
    challenge = server.answer(client.first())
    with pytest.raises(LoginError) as failure:
        server.answer(client.answer(challenge))
    before, _, after = challenge.partition(b",s=")
    return str(failure.value), failure.value.is_told, server.is_complete, before, after.partition(b",")[2]


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512], ids=lambda each: each.name)
def test_nobody_is_told_who_is_a_user(mechanism):
    of_known, of_unknown = (
        failure_of(scram_server(mechanism, "s"), ScramClient(mechanism, name, "wrong", "n")) for name in ("user", "bob")
    )
    assert of_unknown == of_known == ("Invalid client credentials", False, False, b"r=ns", b"i=4096")


def test_nobody_is_told_who_is_a_user_by_an_authorization_id():
    for name in (b"user", b"bob"):
        with pytest.raises(LoginError, match="different from username"):
            scram_server().answer(b"n,a=carol,n=" + name + b",r=x")


def test_a_salt_of_nobody_stays_and_is_like_any_other():
    decoys, others = DecoyCredentials(b"secret"), DecoyCredentials(b"another")
    salts = [decoys.user(SHA_256, f"user-{number}", 4_096).credential.salt for number in range(100)]
    assert salts == [
        DecoyCredentials(b"secret").user(SHA_256, f"user-{number}", 8_192).credential.salt for number in range(100)
    ]
    assert len({*salts, others.user(SHA_256, "user-0", 1).credential.salt}) == 101
    assert decoys.user(SHA_512, "user-0", 4_096).credential.salt != salts[0]
    real = [new_user_salt(Random(seed).getrandbits) for seed in range(100)]
    for some in (salts, real):
        assert {25, 26} <= {len(salt) for salt in some} <= {23, 24, 25, 26}
        assert set(b"".join(some)) == set(b"0123456789abcdefghijklmnopqrstuvwxyz")


def test_nobody_logs_in_even_with_the_key_of_nobody():
    """As if the secret were known, and a key that fits."""
    key = b"k" * 32
    nobody = KnownUser(ScramCredential(b"salt", SHA_256.hash(key), key, 4_096), None)
    server = ScramServer(SHA_256, lambda name, is_token: nobody, "s")
    challenge = server.answer(b"n,,n=bob,r=n").decode()
    signature = SHA_256.hmac(SHA_256.hash(key), f"n=bob,r=n,{challenge},c=biws,r=ns".encode())
    proof = b64encode(bytes(a ^ b for a, b in zip(signature, key, strict=True)))
    with pytest.raises(LoginError, match="Invalid client credentials"):
        server.answer(b"c=biws,r=ns,p=" + proof)
    assert not server.is_complete


def test_a_token_login_asks_for_the_token():
    token = KnownUser(credential(), Identity("owner", "id", 5000))
    nobody = DecoyCredentials(b"secret").token(SHA_256, "id")
    server = ScramServer(SHA_256, lambda name, is_token: token if (name, is_token) == ("id", True) else nobody, "s")
    assert log_in(ScramClient(SHA_256, "id", "pencil", "c", is_token=True), server) == Identity("owner", "id", 5000)


def test_who_has_an_expired_token_is_told_so_and_nobody_else_is():
    token = KnownUser(credential(), Identity("owner", "id", 5000), has_expired=True)
    for password, reason, is_told in (("pencil", "has expired", True), ("guessed", "Invalid client credent", False)):
        server = ScramServer(SHA_256, lambda name, is_token: token, "s")
        with pytest.raises(LoginError, match=reason) as caught:
            log_in(ScramClient(SHA_256, "id", password, "c", is_token=True), server)
        assert (caught.value.is_told, server.is_complete) == (is_told, False)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\xff",
        b"y,,n=user,r=x",
        b"p=tls-unique,,n=user,r=x",
        b"n,,n=,r=x",
        b"n,,n=user",
        b"n,,n=us=er,r=x",
        b"n,,n=user,r=",
        b"n,,n=user,r=x,",
        b"n,,n=user\0,r=x",
        b"n,,n=user,r=x,y",
    ],
)
def test_a_scram_message_that_is_none_fails(first):
    with pytest.raises(LoginError):
        scram_server().answer(first)


def test_another_authorization_id_is_refused_in_the_open():
    with pytest.raises(LoginError, match="different from username") as failure:
        scram_server().answer(b"n,a=bob,n=user,r=x")
    assert failure.value.is_told


@pytest.mark.parametrize(
    ("what", "instead"), [(b"biws", b"eSws"), (b"r=rOprN", b"r=xOprN"), (b"p=dHz", b"p=!Hz"), (b"p=dHzb", b"p=d")]
)
def test_a_final_message_of_another_exchange_fails(what, instead):
    server = scram_server()
    server.answer(RFC_7677[0])
    with pytest.raises(LoginError):
        server.answer(RFC_7677[2].replace(what, instead))


@pytest.mark.parametrize(
    "challenge",
    [
        b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=n,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=nx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1",
        b"r=nx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=999999999",
        b"r=nx,s=!,i=4096",
        b"e=other-error",
    ],
)
def test_a_client_does_not_take_anything(challenge):
    client = ScramClient(SHA_256, "user", "pencil", "n")
    client.first()
    with pytest.raises(LoginError):
        client.answer(challenge)


def test_a_server_that_does_not_know_the_password_is_found_out():
    client = ScramClient(SHA_256, "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    client.answer(RFC_7677[1])
    with pytest.raises(LoginError, match="did not prove that it knows the password"):
        client.answer(b"v=AAAA")
    assert not client.is_complete


def test_secrets_do_not_show():
    shown = repr((credential(), JaasEntry("m", {"password": "pencil"}), LoginError("x")))
    assert "pencil" not in shown
    assert "key" not in shown


def plain_server():
    return PlainServer(verifier({"alice": "secret", "bob": ""}))


def test_plain():
    assert log_in(PlainClient("alice", "secret"), plain_server()) == Identity("alice")
    server = plain_server()
    assert server.answer(b"alice\0alice\0secret") == b""


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0a\0b\0c", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0secret", GENERAL + "username not specified"),
        (b"\0alice\0", GENERAL + "password not specified"),
        (b"\0alice\0wrong", GENERAL + "Invalid username or password"),
        (b"\0carol\0secret", GENERAL + "Invalid username or password"),
        (b"\0bob\0x", GENERAL + "Invalid username or password"),
        (b"\0alice\0\xff", GENERAL + "Invalid username or password"),
        (b"bob\0alice\0secret", GENERAL + "Client requested an authorization id that is different from username"),
    ],
)
def test_plain_failures(response, reason):
    server = plain_server()
    with pytest.raises(LoginError) as failure:
        server.answer(response)
    assert (str(failure.value), failure.value.is_told, server.is_complete) == (reason, True, False)


def oauth_server():
    def validate(token):
        if token == "good":
            return Identity("alice", expires_ms=7)
        if token == "narrow":
            raise InvalidTokenError("too little", "insufficient_scope", "write")
        raise InvalidTokenError("expired")

    return OAuthBearerServer(validate)


def test_oauthbearer():
    client = OAuthBearerClient("good", {"logicalCluster": "lkc-1"})
    assert client.first() == b"n,,\x01auth=Bearer good\x01logicalCluster=lkc-1\x01\x01"
    assert log_in(client, oauth_server()) == Identity("alice", "", 7)
    assert oauth_server().answer(b"n,a=alice,\x01auth=bearer  good\x01\x01") == b""


@pytest.mark.parametrize(
    ("token", "told"),
    [("bad", {"status": "invalid_token"}), ("narrow", {"status": "insufficient_scope", "scope": "write"})],
)
def test_a_token_that_proves_nothing_is_told_so_twice(token, told):
    client, server = OAuthBearerClient(token), oauth_server()
    challenge = server.answer(client.first())
    assert json.loads(challenge) == told
    final = client.answer(challenge)
    assert (final, client.is_complete) == (b"\x01", False)
    with pytest.raises(LoginError) as failure:
        server.answer(final)
    assert (str(failure.value), failure.value.is_told) == (challenge.decode(), True)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (b"", "first message"),
        (b"\xff", "first message"),
        (b"\x01", "first message"),
        (b"n,,\x01\x01", "'auth' not specified"),
        (b"n,,\x01auth=Bearer\x01\x01", "invalid 'auth' format"),
        (b"n,,\x01auth=Basic good\x01\x01", "not bearer"),
        (b"n,a=bob,\x01auth=Bearer good\x01\x01", "different from the token's principal name"),
        (b"n,,\x01auth=Bearer good\x01", "first message"),
    ],
)
def test_oauthbearer_failures(response, reason):
    with pytest.raises(LoginError, match=reason):
        oauth_server().answer(response)


def test_clients_come_from_jaas_lines():
    options = {"username": "alice", "password": "secret", "unsecuredLoginStringClaim_sub": "alice"}
    for mechanism in MECHANISMS:
        assert new_client(mechanism, JaasEntry("m", options), lambda count: b"x" * count, 0).first()
    for mechanism in (*MECHANISMS, "GSSAPI"):
        with pytest.raises(ConfigError):
            new_client(mechanism, JaasEntry("m", {}), lambda count: b"x" * count, 0)


def test_an_unsecured_token_has_the_claims_of_the_line():
    options = {
        "unsecuredLoginStringClaim_sub": "alice",
        "unsecuredLoginNumberClaim_n": "1.5",
        "unsecuredLoginListClaim_scope": "|a|b",
        "unsecuredLoginLifetimeSeconds": "60",
    }
    first = new_client("OAUTHBEARER", JaasEntry("m", options), lambda count: b"", 5000).first().decode()
    header, claims, signature = first.split(" ")[1].rstrip("\x01").split(".")
    assert json.loads(b64decode(header + "==")) == {"alg": "none"}
    assert json.loads(b64decode(claims + "==")) == {"iat": 5, "exp": 65, "sub": "alice", "n": 1.5, "scope": ["a", "b"]}
    assert signature == ""


def test_what_a_stranger_says_is_short():
    assert scram_server().most_response_bytes == 4_096
    assert (plain_server().most_response_bytes, oauth_server().most_response_bytes) == (16_384, 16_384)


def test_an_oauthbearer_check_is_computed_by_somebody_else():
    def judge(token):
        return lambda: Identity(token)

    server = OAuthBearerServer(judge)
    check = server.answer(b"n,,\x01auth=Bearer alice\x01\x01")
    assert callable(check)
    assert not server.is_complete
    go_on = check()
    assert not server.is_complete
    assert (go_on(), server.is_complete, server.identity) == (b"", True, Identity("alice"))
