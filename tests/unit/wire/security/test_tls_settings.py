"""What is made of Kafka's ssl.* settings: stores, versions, ciphers, and what is refused of them."""

import ssl
import subprocess

import pytest

from barnabas.clients.librdkafka import librdkafka_options
from barnabas.core.errors import ConfigError
from barnabas.testing.certificates import Authority
from barnabas.wire.security.tls.cipher_suites import openssl_name
from barnabas.wire.security.tls.contexts import client_context, server_context
from barnabas.wire.security.tls.settings import client_settings
from barnabas.wire.security.tls.stores import read_key_pair, read_trusted


@pytest.fixture(scope="module")
def authority():
    return Authority()


@pytest.fixture
def pem(tmp_path, authority):
    path = tmp_path / "it.pem"
    path.write_bytes(authority.issue("it").pem())
    return str(path)


@pytest.mark.parametrize(
    "suite",
    [
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        "TLS_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_RSA_WITH_AES_128_CBC_SHA256",
        "TLS_RSA_WITH_AES_256_CBC_SHA",
        "ECDHE-RSA-AES128-GCM-SHA256",
    ],
)
def test_a_suite_by_its_name_of_javas_is_one_of_openssls(suite):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL@SECLEVEL=0")
    assert openssl_name(suite) in {each["name"] for each in context.get_ciphers()}


def versions(context):
    named = {ssl.TLSVersion.TLSv1_2: "TLSv1.2", ssl.TLSVersion.TLSv1_3: "TLSv1.3"}
    return [name for version, name in named.items() if context.minimum_version <= version <= context.maximum_version]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ["TLSv1.2", "TLSv1.3"]),
        ({"ssl.enabled.protocols": "TLSv1.3"}, ["TLSv1.3"]),
        ({"ssl.cipher.suites": "TLS_RSA_WITH_AES_256_GCM_SHA384"}, ["TLSv1.2"]),
        ({"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}, ["TLSv1.3"]),
        ({"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384,TLS_RSA_WITH_AES_256_GCM_SHA384"}, ["TLSv1.2", "TLSv1.3"]),
    ],
)
def test_versions_are_those_that_are_wanted_and_have_a_cipher(settings, expected):
    assert versions(client_context(client_settings(settings))) == expected


def test_no_version_may_be_left(pem):
    settings = {"ssl.enabled.protocols": "TLSv1.3", "ssl.cipher.suites": "TLS_RSA_WITH_AES_256_GCM_SHA384"}
    with pytest.raises(ConfigError, match=r"no version of ssl\.enabled\.protocols has a cipher"):
        client_context(client_settings(settings))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"ssl.keystore.key": "k"}, "SSL private key can be specified only for PEM"),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.key": "k"}, "certificate chain is not specified"),
        ({"ssl.keystore.certificate.chain": "c"}, "private key is not specified"),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.key": "k", "ssl.keystore.location": "f"},
            "Both SSL key store location and separate private key are specified",
        ),
        ({"ssl.truststore.certificates": "c"}, "only for PEM"),
        ({"ssl.endpoint.identification.algorithm": "ldaps"}, "use https, or nothing"),
    ],
)
def test_settings_that_cant_be_together_are_refused(settings, told):
    with pytest.raises(ConfigError, match=told):
        client_settings(settings)


def test_who_checks_no_host_says_so_with_nothing():
    assert client_settings({}).checks_host
    assert not client_settings({"ssl.endpoint.identification.algorithm": ""}).checks_host


def test_what_is_secret_is_in_no_repr():
    settings = client_settings(
        {"ssl.keystore.password": "swordfish", "ssl.key.password": "swordfish", "ssl.truststore.password": "swordfish"}
    )
    assert "swordfish" not in repr(settings)


def test_an_encrypted_key_needs_its_password_and_asks_nobody(tmp_path, authority):
    path = tmp_path / "it.pem"
    path.write_bytes(authority.issue("it").pem("right"))
    settings = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path)}
    server_context(client_settings({**settings, "ssl.key.password": "right"}))
    for wrong in ({}, {"ssl.key.password": "wrong"}):
        with pytest.raises(ConfigError, match=r"ssl\.key\.password does not match") as refused:
            server_context(client_settings({**settings, **wrong}))
        assert "wrong" not in str(refused.value)


@pytest.mark.parametrize("separator", ["", " ", "\n"])
@pytest.mark.parametrize("password", ["", "right"])
def test_inline_pem_may_be_on_one_line(authority, separator, password):
    """KIP-651's form: a properties file joins continued lines."""
    it = authority.issue("it")
    texts = {
        "ssl.keystore.key": it.key_pem(password),
        "ssl.keystore.certificate.chain": it.certificate_pem,
        "ssl.truststore.certificates": it.certificate_pem + authority.certificate_pem,
    }
    settings = {name: separator.join(text.decode().splitlines()) for name, text in texts.items()}
    settings |= {"ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM", "ssl.key.password": password}
    server_context(client_settings(settings))
    assert client_context(client_settings(settings)).cert_store_stats()["x509"] == 2


def test_pem_files_may_be_joined_without_a_line_break_and_have_any_comment(tmp_path, authority):
    it = authority.issue("it")
    parts = "# Schlüssel\n".encode("latin-1") + it.key_pem(), it.certificate_pem, authority.certificate_pem
    path = _written(tmp_path / "it.pem", b"".join(part.rstrip() for part in parts))
    names = ("ssl.keystore", "ssl.truststore")
    settings = {f"{name}.{end}": value for name in names for end, value in (("type", "PEM"), ("location", path))}
    server_context(client_settings(settings))
    assert client_context(client_settings(settings)).cert_store_stats()["x509"] == 2
    options = librdkafka_options("a:1", {"security.protocol": "SSL", **settings})
    assert options["ssl.certificate.pem"].count("BEGIN") == 3


def test_a_key_of_somebody_else_is_refused(tmp_path, authority):
    path = tmp_path / "it.pem"
    path.write_bytes(authority.issue("one").key_pem() + authority.issue("other").certificate_pem)
    with pytest.raises(ConfigError, match="its first certificate is not for its private key"):
        server_context(client_settings({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path)}))


def test_comments_in_a_truststore_may_be_in_any_language(tmp_path, authority):
    text = f"# CN=NetLock Arany (Class Gold) Főtanúsítvány\n{authority.certificate_pem.decode()}"
    for encoding in ("utf-8", "iso8859-2"):
        path = _written(tmp_path / "trusted.pem", text.encode(encoding))
        context = client_context(client_settings({"ssl.truststore.type": "PEM", "ssl.truststore.location": path}))
        assert context.cert_store_stats()["x509"] == 1
    context = client_context(client_settings({"ssl.truststore.type": "PEM", "ssl.truststore.certificates": text}))
    assert context.cert_store_stats()["x509"] == 1


def test_a_key_on_an_unsupported_curve_is_refused(tmp_path):
    key, certificate, store = tmp_path / "key.pem", tmp_path / "it.pem", tmp_path / "it.p12"
    for command in (
        f"ecparam -genkey -name secp224k1 -out {key}",
        f"req -x509 -key {key} -subj /CN=it -out {certificate}",
        f"pkcs12 -export -inkey {key} -in {certificate} -out {store} -passout pass:secret1",
    ):
        subprocess.run(["openssl", *command.split()], check=True, capture_output=True, timeout=60)
    with pytest.raises(ConfigError, match=r"it\.p12 is unusable: .*is not supported"):
        read_key_pair(str(store), "PKCS12", "secret1", None)


def test_a_list_of_revoked_certificates_must_be_one(tmp_path, authority, pem):
    path = tmp_path / "revoked.pem"
    for data in (b"nothing", authority.certificate_pem):
        path.write_bytes(data)
        settings = {
            "barnabas.ssl.crl.location": str(path),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": pem,
        }
        with pytest.raises(ConfigError, match="list"):
            client_context(client_settings(settings))


def test_stores_that_javas_keytool_wrote_are_read(tmp_path):
    keys, trusted = tmp_path / "keys.jks", tmp_path / "trusted.jks"
    certificate = tmp_path / "it.cer"

    def keytool(*arguments):
        subprocess.run(["keytool", *map(str, arguments)], check=True, capture_output=True, timeout=240)

    keytool(
        "-genkeypair", "-alias", "it", "-keyalg", "EC", "-dname", "CN=it", "-keystore", keys, "-storepass", "secret1"
    )
    keytool("-exportcert", "-alias", "it", "-keystore", keys, "-storepass", "secret1", "-file", certificate)
    keytool(
        *("-importcert", "-noprompt", "-alias", "it", "-file", certificate),
        *("-keystore", trusted, "-storepass", "secret2"),
    )
    pair = read_key_pair(str(keys), "JKS", "secret1", None)
    assert b"PRIVATE KEY" in pair.pem
    assert read_trusted(str(trusted), "JKS", "secret2").count("BEGIN CERTIFICATE") == 1
    for read in (lambda: read_key_pair(str(keys), "JKS", "wrong", None), lambda: read_trusted(str(trusted), "JKS", "")):
        with pytest.raises(ConfigError, match="its password is wrong"):
            read()
    with pytest.raises(ConfigError, match="holds no private key"):
        read_key_pair(str(trusted), "PKCS12", "secret2", None)
    with pytest.raises(ConfigError, match="set its type to PEM"):
        read_trusted(_written(tmp_path / "x", b"-----BEGIN CERTIFICATE-----"), "JKS", None)


def _written(path, data):
    path.write_bytes(data)
    return str(path)
