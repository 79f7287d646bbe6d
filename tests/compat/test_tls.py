"""Real clients over TLS: good certificates and bad ones, and who a certificate stands for.

With `BARNABAS_COMPAT_TARGET=kafka` the same runs against Kafka 2.7.2, but for revoked certificates, which there are
a matter of the JVM's own switches.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.x509.oid import NameOID
from kafka import KafkaAdminClient

from barnabas.testing import Broker
from barnabas.testing.certificates import Authority, Certified
from tests.compat.clients.java import JavaClient, JavaClientError
from tests.compat.conftest import TARGET
from tests.patience import PATIENCE_S
from tools.kafka.jars import KAFKA
from tools.kafka.server import ONE_BROKER, QuickKafkaServer, free_port

# A client of Kafka's own judges alone, and the others with --whole.
ONE_CLIENT = pytest.mark.parametrize(
    "ask",
    ["java-2.7.2", *(pytest.param(client, marks=pytest.mark.whole) for client in ("librdkafka", "kafka-python"))],
    indirect=True,
)
Ask = Callable[[str, "Identity"], list[str]]
_TIMEOUT_MS = 20_000
# Of keys and stores.
_PASSWORD = "of the key"


class Identity:
    """What a client has and trusts, in files.

    Attributes:
        ca, pair: Who is trusted; key and chain.
        store: The latter as PKCS12: Java's clients of 2.7 hardly read any other key.
        protocol: The only version of TLS that it speaks.
    """

    def __init__(self, directory: Path, ca: bytes, certified: Certified, protocol: str = "") -> None:
        name = f"{certified.certificate.serial_number:x}"
        self.ca = directory / f"{name}-ca.pem"
        self.ca.write_bytes(ca)
        self.pair = directory / f"{name}.pem"
        self.pair.write_bytes(certified.pem(_PASSWORD))
        self.store = directory / f"{name}.p12"
        self.store.write_bytes(certified.pkcs12(_PASSWORD))
        self.protocol = protocol


class Certificates:
    """An authority, and what it has signed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority = Authority()

    def client(self, name: str, protocol: str = "", **how: tuple[int, int]) -> Identity:
        parts = [(NameOID.ORGANIZATION_NAME, "Acme, Inc."), (NameOID.COMMON_NAME, name)]
        whose = x509.Name([x509.NameAttribute(oid, value) for oid, value in parts])
        valid_days = how.get("valid_days", (-1, 365))
        certified = self.authority.issue(whose, valid_days=valid_days)
        return Identity(self.directory, self.authority.certificate_pem, certified, protocol)

    def broker_settings(self, hosts: tuple[str, ...] = ("localhost", "127.0.0.1")) -> dict[str, str]:
        # A store of its own for each broker: one that runs follows its files.
        keys, ca = self.directory / f"broker-{'-'.join(hosts)}.p12", self.directory / "ca.pem"
        if not keys.exists():
            keys.write_bytes(self.authority.issue("broker", hosts=hosts).pkcs12(_PASSWORD))
        ca.write_bytes(self.authority.certificate_pem)
        return {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(keys),
            "ssl.keystore.password": _PASSWORD,
            "ssl.key.password": _PASSWORD,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(ca),
            "ssl.client.auth": "required",
        }


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


def secure_broker(stack: ExitStack, settings: Mapping[str, str]) -> str:
    """Start a broker with a listener that speaks TLS; its address."""
    if TARGET == "kafka":
        plain, secure = free_port(), free_port()
        listeners = f"PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{secure}"
        # In a properties file a backslash stands for what follows.
        config = {name: value.replace("\\", "\\\\") for name, value in settings.items()}
        stack.enter_context(QuickKafkaServer(config={"listeners": listeners, **config}, port=plain))
        return f"127.0.0.1:{secure}"
    return stack.enter_context(Broker(config={**ONE_BROKER, **settings}, security_protocol="SSL")).bootstrap_servers


@pytest.fixture(scope="module")
def address(certificates: Certificates) -> Iterator[str]:
    """A broker that wants certificates; only alice may do anything."""
    rules = {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:CN=alice,O=Acme\\, Inc.;User:CN=broker;User:ANONYMOUS",
    }
    with ExitStack() as stack:
        yield secure_broker(stack, {**certificates.broker_settings(), **rules})


@pytest.fixture(scope="module")
def java() -> Iterator[JavaClient]:
    # Each handle says which broker it is for.
    client = JavaClient("unused:1", KAFKA)
    yield client
    client.close()


def java_admin(java: JavaClient, address: str, identity: Identity) -> str:
    """An admin client of Java's; its handle."""
    settings = {
        "bootstrap.servers": address,
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": identity.ca,
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": identity.store,
        "ssl.keystore.password": _PASSWORD,
        "ssl.key.password": _PASSWORD,
        "request.timeout.ms": _TIMEOUT_MS,
        "default.api.timeout.ms": _TIMEOUT_MS,
    }
    if identity.protocol:
        settings |= {"ssl.enabled.protocols": identity.protocol, "ssl.protocol": identity.protocol}
    handle = f"{identity.pair.name} {address}"
    java.call("admin", handle, *(f"{name}={value}" for name, value in settings.items()))
    return handle


@pytest.fixture(params=["java-2.7.2", "librdkafka", "kafka-python"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Ask a broker for its topics with each client; raises what that client raises."""
    if request.param == "librdkafka":
        return _ask_by_librdkafka
    if request.param == "kafka-python":
        return _ask_by_kafka_python
    java: JavaClient = request.getfixturevalue("java")

    def by_java(address: str, identity: Identity) -> list[str]:
        return java.call("list-topics", java_admin(java, address, identity))

    return by_java


def _ask_by_librdkafka(address: str, identity: Identity) -> list[str]:
    told: list[str] = []
    settings: dict[str, Any] = {
        "bootstrap.servers": address,
        "security.protocol": "SSL",
        "ssl.ca.location": str(identity.ca),
        "ssl.certificate.location": str(identity.pair),
        "ssl.key.location": str(identity.pair),
        "ssl.key.password": _PASSWORD,
        "error_cb": lambda error: told.append(error.str()),
    }
    admin = AdminClient(settings)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return sorted(admin.list_topics(timeout=0.2).topics)
        except KafkaException as error:
            admin.poll(0)
            if told or time.monotonic() > deadline:
                raise ConnectionError(f"{told} {error}") from None


def _ask_by_kafka_python(address: str, identity: Identity) -> list[str]:
    admin = KafkaAdminClient(
        bootstrap_servers=address,
        security_protocol="SSL",
        ssl_cafile=str(identity.ca),
        ssl_certfile=str(identity.pair),
        ssl_keyfile=str(identity.pair),
        ssl_password=_PASSWORD,
        bootstrap_timeout_ms=3_000,
    )
    try:
        return sorted(admin.list_topics())
    finally:
        admin.close()


def is_refused(ask: Ask, address: str, identity: Identity) -> bool:
    try:
        ask(address, identity)
    except Exception as error:  # each library has its own
        print(type(error).__name__, error)
        return True
    return False


def test_a_good_certificate_gets_in_and_others_do_not(ask: Ask, address: str, certificates: Certificates) -> None:
    ask(address, certificates.client("alice"))
    assert is_refused(ask, address, certificates.client("alice", valid_days=(-2, -1)))
    strangers = Authority("stranger")
    strange = Identity(certificates.directory, certificates.authority.certificate_pem, strangers.issue("alice"))
    assert is_refused(ask, address, strange)
    distrustful = Identity(
        certificates.directory, strangers.certificate_pem, certificates.authority.issue("alice", hosts=())
    )
    assert is_refused(ask, address, distrustful)
    ask(address, certificates.client("alice"))


@ONE_CLIENT
def test_a_broker_for_another_host_is_refused_by_its_clients(ask: Ask, certificates: Certificates) -> None:
    with ExitStack() as stack:
        address = secure_broker(stack, certificates.broker_settings(hosts=("elsewhere.example",)))
        assert is_refused(ask, address, certificates.client("alice"))


@pytest.mark.parametrize("protocol", ["TLSv1.2", "TLSv1.3"])
def test_java_speaks_either_version(java: JavaClient, address: str, certificates: Certificates, protocol: str) -> None:
    java.call("list-topics", java_admin(java, address, certificates.client("alice", protocol)))


def test_a_user_is_its_certificates_name_as_java_prints_it(
    java: JavaClient, address: str, certificates: Certificates
) -> None:
    """alice is a super user by her distinguished name, comma and all; bob may nothing."""

    def create(who: str, topic: str) -> None:
        java.call("create-topic", java_admin(java, address, certificates.client(who)), topic, 1)

    create("alice", "of-alice")
    with pytest.raises(JavaClientError, match="Authorization"):
        create("bob", "of-bob")


@ONE_CLIENT
@pytest.mark.skipif(TARGET == "kafka", reason="there it is a matter of the JVM's own switches")
def test_a_revoked_certificate_does_not_get_in(ask: Ask, certificates: Certificates) -> None:
    revoked = certificates.authority.issue("revoked")
    path = certificates.directory / "revoked.pem"
    path.write_bytes(certificates.authority.revocations([revoked]))
    with ExitStack() as stack:
        settings = {**certificates.broker_settings(), "barnabas.ssl.crl.location": str(path)}
        address = secure_broker(stack, settings)
        ask(address, certificates.client("alice"))
        assert is_refused(
            ask, address, Identity(certificates.directory, certificates.authority.certificate_pem, revoked)
        )
