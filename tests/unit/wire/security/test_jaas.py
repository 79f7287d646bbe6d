"""JAAS lines and files, read as Kafka and Java read them."""

import pytest

from barnabas.core.errors import ConfigError
from barnabas.wire.security.jaas import entry_of_file, parse_jaas, parse_jaas_file

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def options(text):
    return dict(parse_jaas(f"{PLAIN} required {text};", "PLAIN").options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ('username="alice" password="a;b=c"', {"username": "alice", "password": "a;b=c"}),
        ("username=alice password=$a-b_c.d1", {"username": "alice", "password": "$a-b_c.d1"}),
        ("a = 'x\"y'\n b=\"x'y\"", {"a": 'x"y', "b": "x'y"}),
        (r'a="q\"\\\t\101\e"', {"a": 'q"\\\tAe'}),
        ('/* b=1 */ a="x" // c=2 ;\n d="/*y*/"', {"a": "x", "d": "/*y*/"}),
        ('a="x" / rest\n', {"a": "x"}),
        ('a="päss\u4e2d"', {"a": "päss\u4e2d"}),
        ("a=x a=y", {"a": "y"}),
    ],
)
def test_options(text, expected):
    assert options(text) == expected


def test_users():
    entry = parse_jaas(f'{PLAIN} Required username="b" password="c" user_alice="x" user_a.b=y user_="z";', "PLAIN")
    assert entry.users == {"alice": "x", "a.b": "y", "": "z"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Login module not specified"),
        ("  // nothing\n", "Login module not specified"),
        (";", "Login module not specified"),
        (PLAIN, "control flag is not available"),
        (f"{PLAIN} needed;", "Invalid login module control flag"),
        (f'{PLAIN} required a="x"', "not terminated by semi-colon"),
        (f"{PLAIN} required a;", "Value not specified for key 'a'"),
        (f"{PLAIN} required a=;", "Value not specified for key 'a'"),
        (f"{PLAIN} required a=5;", "has to stand in quotes"),
        (f"{PLAIN} required a=x {PLAIN} required;", "Value not specified"),
        (f"{PLAIN} required; {PLAIN} required;", "contains 2 login modules"),
        (f"{SCRAM} required;", "the login module of PLAIN"),
    ],
)
def test_errors(text, reason):
    with pytest.raises(ConfigError, match=reason):
        parse_jaas(text, "PLAIN")


def test_no_error_tells_a_password():
    for text in (
        f'{PLAIN} required a="secret" b=5;',
        f"{PLAIN} required user_a secret;",
        f'{PLAIN} required a="secret',
    ):
        with pytest.raises(ConfigError) as failure:
            parse_jaas(text, "PLAIN")
        assert "secret" not in str(failure.value)


FILE = f"""
// brokers
KafkaServer {{
    {PLAIN} required username="x" user_alice="y";
    {SCRAM} required username="s";
}};
internal.KafkaServer {{ {PLAIN} optional user_bob="z"; }};
"""


def test_a_file_has_sections():
    sections = parse_jaas_file(FILE)
    assert entry_of_file(sections, "EXTERNAL", "PLAIN").users == {"alice": "y"}
    assert entry_of_file(sections, "EXTERNAL", "SCRAM-SHA-512").options == {"username": "s"}
    assert entry_of_file(sections, "INTERNAL", "PLAIN").users == {"bob": "z"}
    assert entry_of_file(sections, "INTERNAL", "SCRAM-SHA-512") is None


@pytest.mark.parametrize("text", ["KafkaServer", "KafkaServer {", "a { };b", "{ };", f"a {{ {PLAIN} required }};"])
def test_a_file_that_is_none(text):
    with pytest.raises(ConfigError):
        parse_jaas_file(text)
