"""DIGEST-MD5, against the example of RFC 2831."""

import pytest

from barnabas.clients.zookeeper.digest_md5 import DigestError, DigestMd5

CHALLENGE = b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8'


def exchange() -> DigestMd5:
    return DigestMd5("chris", "secret", "imap/elwood.innosoft.com", "OA6MHXh6VqTrRk")


def test_the_example_of_the_rfc() -> None:
    digest = exchange()
    assert digest.answer(None) == b""
    answer = digest.answer(CHALLENGE)
    assert b"response=d388dad90d4bbd760a152321f2143af7" in answer
    assert b'username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",nc=00000001' in answer
    assert b"secret" not in answer
    assert not digest.complete
    assert digest.answer(b"rspauth=ea40f60335c427b5527b84dbabcdfffd") == b""
    assert digest.complete


@pytest.mark.parametrize("last", [b"", b"rspauth=ea40f60335c427b5527b84dbabcdfffe", b"rspauth=", b"\xff"])
def test_a_server_that_does_not_know_the_password_is_none(last: bytes) -> None:
    digest = exchange()
    digest.answer(CHALLENGE)
    with pytest.raises(DigestError):
        digest.answer(last)
    assert not digest.complete


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b"nonsense",
        b"\xff",
        b'nonce="x"',
        b'nonce="x",algorithm=md5',
        b'nonce="x",qop="auth-conf",algorithm=md5-sess',
    ],
)
def test_a_challenge_that_is_none_is_refused(challenge: bytes) -> None:
    with pytest.raises(DigestError):
        exchange().answer(challenge)


def test_quotes_are_escaped() -> None:
    digest = DigestMd5('a"b\\c', "p", "zookeeper/zk-sasl-md5", "x")
    assert b'username="a\\"b\\\\c"' in digest.answer(b'realm="r\\"",nonce="n",algorithm=md5-sess')
