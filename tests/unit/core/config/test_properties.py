import pytest

from barnabas.core.config import parse_properties, read_properties
from barnabas.core.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a = 1 ", {"a": "1 "}),
        ("a:1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("a", {"a": ""}),
        ("  # comment\n! comment\n\na=1", {"a": "1"}),
        ("a=1\na=2", {"a": "2"}),
        ("a\\ b=1", {"a b": "1"}),
        ("a\\=b=c=d", {"a=b": "c=d"}),
        ("a=x\\ty\\\\z\\u0041", {"a": "x\ty\\zA"}),
        ("a=1,\\\n   2,\\\r\n\t3\nb=4", {"a": "1,2,3", "b": "4"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=1\\", {"a": "1"}),
        ("a=1\rb=2", {"a": "1", "b": "2"}),
        ("a=1\\\n# no comment", {"a": "1# no comment"}),
    ],
)
def test_reads_as_java_does(text, expected):
    assert parse_properties(text)[0] == expected


def test_keeps_the_line_on_which_a_setting_begins():
    assert parse_properties("# head\na=1,\\\n  2\n\nb=3\na=4\n")[1] == {"a": 6, "b": 5}


def test_bad_unicode_escape_names_the_line(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("a=1\nb=\\u12\n")
    with pytest.raises(ConfigError, match=r"server\.properties:2: \\u must be followed by four hexadecimal digits"):
        read_properties(str(file))


def test_missing_file_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot read .*none\.properties: No such file or directory"):
        read_properties(str(tmp_path / "none.properties"))


def test_file_is_latin_1(tmp_path):
    file = tmp_path / "server.properties"
    file.write_bytes(b"broker.rack=caf\xe9\n")
    assert read_properties(str(file))[0] == {"broker.rack": "café"}
