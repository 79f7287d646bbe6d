"""A ZooKeeper that wants to know who comes: logins, access lists and TLS."""

import datetime
import ipaddress
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from tests.compat.zookeeper_outages import new_broker
from tests.patience import PATIENCE_S, until
from tools.kafka.java import run_tool
from tools.kafka.server import free_port
from tools.kafka.zookeeper import ZooKeeper

PASSWORD = 'a "quoted" secret'
MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    """A ZooKeeper that knows user kafka."""
    directory = tmp_path_factory.mktemp("guarded")
    jaas = directory / "server.jaas"
    jaas.write_text(f'Server {{ {MODULE} required user_kafka="{_escaped(PASSWORD)}"; }};\n')
    options = [f"-Djava.security.auth.login.config={jaas}"]
    config = ["authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"]
    with ZooKeeper(directory, config, options) as server:
        yield server


def jaas_file(directory: Path, password: str) -> Path:
    path = directory / "client.jaas"
    path.write_text(f'Client {{ {MODULE} required username="kafka" password="{_escaped(password)}"; }};\n')
    return path


def _escaped(text: str) -> str:
    return text.replace('"', '\\"')


@pytest.fixture
def anybody(guarded: ZooKeeper, name: str) -> Iterator[KazooClient]:
    client = KazooClient(f"{guarded.connect}/{name}")
    client.start_async().wait(PATIENCE_S)
    yield client
    client.stop()
    client.close()


def test_what_a_broker_writes_only_it_may_change_and_credentials_nobody_else_reads(
    guarded: ZooKeeper, anybody: KazooClient, name: str, tmp_path: Path
) -> None:
    chroot = f"{guarded.connect}/{name}"
    jaas = jaas_file(tmp_path, PASSWORD)
    settings = {"barnabas.jaas.config.file": str(jaas), "zookeeper.set.acl": "true"}
    with new_broker(chroot, config=settings) as broker:
        creator = ("sasl", "kafka", 31)
        assert access(anybody, "/brokers/ids/0") == {creator, ("world", "anyone", 1)}
        assert access(anybody, "/controller") == {creator, ("world", "anyone", 1)}
        assert access(anybody, "/config/topics") == {creator, ("world", "anyone", 1)}
        assert access(anybody, "/consumers") == {("world", "anyone", 31)}
        with pytest.raises(NoAuthError):
            anybody.set("/brokers/topics", b"x")
        with pytest.raises(NoAuthError):
            anybody.get("/config/users")
        with pytest.raises(NoAuthError):
            anybody.get_children("/config/brokers")
        # Kafka's own tool logs in with the same file.
        result = run_tool(
            "kafka.admin.TopicCommand",
            *("--zookeeper", chroot, "--create", "--topic", "t", "--partitions", "1", "--replication-factor", "1"),
            jvm_options=[f"-Djava.security.auth.login.config={jaas}"],
        )
        assert result.returncode == 0, result.stdout + result.stderr
        until(lambda: anybody.exists("/brokers/topics/t/partitions/0/state"))
        assert access(anybody, "/brokers/topics/t/partitions/0/state") == {creator, ("world", "anyone", 1)}
        assert PASSWORD not in broker.log_text()


def access(client: KazooClient, path: str) -> set[tuple[str, str, int]]:
    return {(each.id.scheme, each.id.id, each.perms) for each in client.get_acls(path)[0]}


def test_a_wrong_password_ends_the_start(guarded: ZooKeeper, name: str, tmp_path: Path) -> None:
    settings = {"barnabas.jaas.config.file": str(jaas_file(tmp_path, "wrong"))}
    broker = new_broker(f"{guarded.connect}/{name}", config=settings)
    with pytest.raises(Exception, match="refuses the login"):
        broker.start()
    broker.close()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PEM files: `ca.pem`, and a key with its certificate for `server.pem`, `client.pem` and others; as `.p12`, too."""
    directory = tmp_path_factory.mktemp("stores")
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
    for name in ("ca", "server", "client", "elsewhere"):
        key = authority if name == "ca" else ec.generate_private_key(ec.SECP256R1())
        subject = issuer if name == "ca" else x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        address = "127.0.0.1" if name == "server" else "10.9.8.7"
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
            .sign(authority, hashes.SHA256())
        )
        text = certificate.public_bytes(serialization.Encoding.PEM)
        if name != "ca":
            kinds = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            text = key.private_bytes(*kinds) + text
        (directory / f"{name}.pem").write_bytes(text)
        word = serialization.BestAvailableEncryption(b"word")
        bundle = pkcs12.serialize_key_and_certificates(name.encode(), key, certificate, None, word)
        (directory / f"{name}.p12").write_bytes(bundle)
    return directory


@pytest.fixture(scope="module")
def over_tls(tmp_path_factory: pytest.TempPathFactory, stores: Path) -> Iterator[str]:
    """`host:port` of a ZooKeeper that wants a client's certificate."""
    port = free_port()
    config = [
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
        "authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider",
        f"secureClientPort={port}",
        *(f"ssl.keyStore.location={stores / 'server.pem'}", "ssl.keyStore.type=PEM"),
        *(f"ssl.trustStore.location={stores / 'ca.pem'}", "ssl.trustStore.type=PEM"),
        # Of the client's certificate.
        "ssl.hostnameVerification=false",
    ]
    with ZooKeeper(tmp_path_factory.mktemp("tls"), config):
        yield f"127.0.0.1:{port}"


def tls(stores: Path, settings: Mapping[str, str]) -> dict[str, str]:
    return {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.keystore.location": str(stores / "client.pem"),
        "zookeeper.ssl.truststore.location": str(stores / "ca.pem"),
        **settings,
    }


@pytest.mark.parametrize("store", ["client.pem", "client.p12"])
def test_a_broker_comes_over_tls_with_its_certificate(over_tls: str, stores: Path, name: str, store: str) -> None:
    settings = {
        "zookeeper.set.acl": "true",
        "zookeeper.ssl.keystore.location": str(stores / store),
        **({"zookeeper.ssl.keystore.password": "word"} if store.endswith("p12") else {}),
    }
    with new_broker(f"{over_tls}/{name}", config=tls(stores, settings)) as broker:
        assert broker.cluster_id


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"zookeeper.ssl.truststore.location": "{stores}/client.pem"}, "no ZooKeeper answers"),
        ({"zookeeper.ssl.truststore.location": "{stores}/none.pem"}, "truststore.location: No such file"),
        ({"zookeeper.ssl.keystore.location": "{stores}/ca.pem"}, "keystore.location: no PEM"),
        ({"zookeeper.ssl.keystore.location": "{stores}/x.jks"}, "only PEM and PKCS12 are read for ZooKeeper"),
        ({"zookeeper.clientCnxnSocket": "other"}, "set zookeeper.clientCnxnSocket="),
        ({"zookeeper.ssl.enabled.protocols": "SSLv3"}, "SSLv3 is none of"),
        ({"zookeeper.ssl.ocsp.enable": "true"}, "not implemented"),
    ],
)
def test_what_can_not_be_trusted_or_read_ends_the_start(
    over_tls: str, stores: Path, name: str, settings: dict[str, str], message: str
) -> None:
    given = {key: value.format(stores=stores) for key, value in settings.items()}
    given["zookeeper.connection.timeout.ms"] = "2000"
    broker = new_broker(f"{over_tls}/{name}", config=tls(stores, given))
    with pytest.raises(Exception, match=message):
        broker.start()
    broker.close()


def test_access_lists_without_a_login_are_refused(guarded: ZooKeeper, name: str) -> None:
    broker = new_broker(f"{guarded.connect}/{name}", config={"zookeeper.set.acl": "true"})
    with pytest.raises(Exception, match="nobody logs in to ZooKeeper"):
        broker.start()
    broker.close()
