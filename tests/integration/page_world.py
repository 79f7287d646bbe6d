"""A broker with users of every kind of right, things with names that tell them apart, and a page with logins."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, Producer

from barnabas.pipeline.runner.run_metrics import Figures
from barnabas.testing import Broker
from tests.commands import run
from tests.integration.page_process import Window, page_process
from tests.integration.test_page import MODULE
from tests.patience import PATIENCE_S

PASSWORD = "pass-of-{}"
# Who may do what, beside `root`, who may all: a resource and operations.
RIGHTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "nobody": (),
    "describer": (("--topic", "shown-topic", "Describe"),),
    "reader": (("--topic", "shown-topic", "Read"), ("--group", "shown-group", "Read")),
    "alterer": (("--topic", "shown-topic", "Alter", "AlterConfigs", "Delete"), ("--group", "shown-group", "Delete")),
    "watcher": (("--cluster", "Describe"),),
    "ruler": (("--cluster", "Alter"),),
}
SCRAM_USERS = {"reader": "SCRAM-SHA-256", "ruler": "SCRAM-SHA-512"}
USERS = (*RIGHTS, "root")
# A field of each is hidden by `--mask`.
MASKED = ("4111-1111", "mask-header")


@dataclass
class World:
    """Attributes:
    files: How commands log in, by user.
    windows: Of each user, logged in, and of a `stranger`, who is not.
    directory: The page's own: its home, and where it would keep files.
    log: What the page wrote.
    """

    broker: Broker
    files: dict[str, Path]
    port: int = 0
    process: "subprocess.Popen[str] | None" = None
    windows: dict[str, Window] = field(default_factory=dict)
    directory: Path = Path()
    log: Path = Path()

    def command(self, user: str, *words: str) -> str:
        """Return all that a command says to a user."""
        config = "--consumer.config" if words[0] == "consume" else "--command-config"
        ended = run(*words, "--bootstrap-server", self.broker.bootstrap_servers, config, self.files[user])
        return ended.stdout + ended.stderr

    def view(self, user: str, path: str) -> object:
        """Return what a user is told as JSON: the value, or why there is none."""
        told = json.loads(self.windows[user].get(f"/c/cluster{path}", accept="application/json").text)
        return told["view"] or told["failure"]


def plain_users() -> str:
    return " ".join(f'user_{user}="{PASSWORD.format(user)}"' for user in USERS if user not in SCRAM_USERS)


LOGINS = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{MODULE} username="root" '
    f'password="{PASSWORD.format("root")}" {plain_users()};',
    **{
        f"listener.name.sasl_plaintext.{each.lower()}.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        )
        for each in SCRAM_USERS.values()
    },
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:root",
}


def login(user: str) -> dict[str, str]:
    """Return how librdkafka logs in as a user."""
    mechanism = SCRAM_USERS.get(user, "PLAIN")
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": PASSWORD.format(user),
    }


def write_files(directory: Path) -> dict[str, Path]:
    """Write how commands log in, by user."""
    files = {}
    for user in USERS:
        mechanism = SCRAM_USERS.get(user, "PLAIN")
        module = MODULE if mechanism == "PLAIN" else MODULE.replace("plain.Plain", "scram.Scram")
        files[user] = directory / f"{user}.properties"
        files[user].write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
            f'sasl.jaas.config={module} username="{user}" password="{PASSWORD.format(user)}";\n'
        )
    return files


def give_rights(world: World) -> None:
    """Add the users that the broker keeps, and what each may."""
    for user, mechanism in (*SCRAM_USERS.items(), ("hidden-scram", "SCRAM-SHA-256")):
        file = world.files["root"].with_name("password")
        file.write_text(PASSWORD.format(user))
        world.command("root", "users", "add", "--user", user, "--mechanism", mechanism, "--password-file", str(file))
    for user, rights in RIGHTS.items():
        for what in rights:
            kind = what[:1] if what[0] == "--cluster" else what[:2]
            operations = [part for each in what[len(kind) :] for part in ("--operation", each)]
            world.command("root", "acls", "--add", *kind, *operations, "--allow-principal", f"User:{user}")
    hidden = ("--topic", "other", "--operation", "Read", "--allow-principal", "User:hidden-principal")
    world.command("root", "acls", "--add", *hidden)
    world.command("root", "quotas", "set", "--user", "hidden-limited", "--set", "producer_byte_rate=1000000")


def write_runs(directory: Path) -> None:
    """Write what runs of a pipeline say of themselves."""
    for name in ("hidden", "shown", "new"):
        figures = Figures(f"{name}-run", state="running", record_count=7, limited_by="a quota")
        if name != "new":
            figures.positions, figures.lag = {f"{name}-topic": {0: 5}}, {f"{name}-topic": {0: 3}}
        file = directory / name / "status.json"
        file.parent.mkdir(parents=True)
        file.write_text(figures.to_json())


@contextmanager
def things(world: World) -> Iterator[None]:
    """Make topics with records, an open transaction, and groups with a member each; all of them are `root`'s."""
    common = {"bootstrap.servers": world.broker.bootstrap_servers, **login("root"), "log_level": 0}
    for name, retention_ms in (("hidden", 86_399_000), ("shown", 86_398_000)):
        topic = ("--topic", f"{name}-topic", "--partitions", "1")
        world.command("root", "topics", "--create", *topic, "--config", f"retention.ms={retention_ms}")
    world.command("root", "topics", "--create", "--topic", "cards", "--partitions", "1")
    producer = Producer({**common, "client.id": "hidden-sender", "linger.ms": 0})
    for name in ("hidden", "shown"):
        producer.produce(f"{name}-topic", f"{name}-value", f"{name}-key", headers=[("h", f"{name}-header".encode())])
    card = b'{"user":"ann","card":"%s"}' % MASKED[0].encode()
    producer.produce("cards", card, b"ann", headers=[("t", MASKED[1].encode())])
    for name in ("shown-topic.dlq", "alerts"):
        world.command("root", "topics", "--create", "--topic", name, "--partitions", "1")
    for reason in (b"no JSON", b"no JSON", b"<script>"):
        producer.produce("shown-topic.dlq", b"x", headers=[("reason", reason)])
    for state in ("firing", "resolved"):
        alert = {"alert": "lag", "subject": "run shown-run", "state": state, "since": "2026", "sentence": "It is late."}
        producer.produce("alerts", json.dumps(alert).encode(), b"lag run shown-run")
    assert producer.flush(PATIENCE_S) == 0
    transaction = Producer({**common, "transactional.id": "hidden-tx", "transaction.timeout.ms": 900_000})
    transaction.init_transactions(PATIENCE_S)
    transaction.begin_transaction()
    transaction.produce("hidden-topic", b"hidden-open")
    assert transaction.flush(PATIENCE_S) == 0
    consumers = []
    try:
        for name in ("hidden", "shown"):
            group = {"group.id": f"{name}-group", "client.id": f"{name}-client", "auto.offset.reset": "earliest"}
            consumers.append(Consumer({**common, **group, "enable.auto.commit": False}))
            consumers[-1].subscribe([f"{name}-topic"])
            message = consumers[-1].poll(PATIENCE_S)
            assert message is not None
            consumers[-1].commit(message=message, asynchronous=False)
        yield
    finally:
        for consumer in consumers:
            consumer.close()
        transaction.abort_transaction(PATIENCE_S)


@contextmanager
def world_with_page(directory: Path) -> Iterator[World]:
    """Run a broker and a page, with all users logged in."""
    (directory / "home").mkdir()
    with Broker(security_protocol="SASL_PLAINTEXT", config=LOGINS) as broker:
        world = World(broker, write_files(directory), directory=directory / "home", log=directory / "page.log")
        give_rights(world)
        write_runs(directory / "checkpoints")
        changing = ("--login", "--allow-changes", "--mask", "cards:!user", "--pipeline", str(directory / "checkpoints"))
        options = ("--bootstrap-server", broker.bootstrap_servers, *changing)
        environment = dict.fromkeys(("TMPDIR", "HOME", "XDG_CACHE_HOME"), str(world.directory))
        with (
            things(world),
            world.log.open("wb") as log,
            page_process(*options, stderr=log.fileno(), environment=environment) as (world.port, world.process),
        ):
            world.windows = {user: Window(world.port) for user in (*USERS, "stranger")}
            for user in USERS:
                answer = world.windows[user].log_in(user, PASSWORD.format(user), SCRAM_USERS.get(user, "PLAIN"))
                assert answer.status == 303, answer.text
            yield world
            world.process.terminate()
            assert world.process.wait(PATIENCE_S) == 0
