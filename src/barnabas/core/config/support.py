"""The table of supported settings: which work as Kafka documents them, and which have no effect.

- `HONOURED`: settings of brokers and of the authorizer that work.
- `PARTLY_HONOURED`: settings that work in part, with that part in words.
- `WITHOUT_EFFECT`: settings for parts that this broker does not have (thread pools, purgatories, Java's reporters).
- `REFUSED`: settings that prevent the start, unless they name Kafka's own class.

Invariant: the code reads every setting in `HONOURED`; tests/docs/test_settings.py reads the code.
"""

from collections.abc import Collection

from barnabas.core.config.broker import BrokerConfig
from barnabas.core.config.classes import CLASS_SETTINGS
from barnabas.core.config.listeners import Endpoint
from barnabas.core.config.settings import LISTENER_PREFIX, OWN_PREFIX, find_file_setting, hint, name_for_any

HONOURED = frozenset(
    [
        "advertised.host.name",
        "advertised.listeners",
        "advertised.port",
        "allow.everyone.if.no.acl.found",
        "alter.log.dirs.replication.quota.window.num",
        "alter.log.dirs.replication.quota.window.size.seconds",
        "authorizer.class.name",
        "auto.create.topics.enable",
        "auto.leader.rebalance.enable",
        "background.threads",
        "barnabas.facts.max.bytes",
        "barnabas.http.listeners",
        "barnabas.jaas.config.file",
        "barnabas.login.timeout.ms",
        "barnabas.metrics.max.entities",
        "barnabas.record.validation",
        "barnabas.registry.listeners",
        "barnabas.registry.min.session.timeout.ms",
        "barnabas.registry.ssl.listeners",
        "barnabas.registry.super.users",
        "barnabas.request.max.array.elements",
        "barnabas.ssl.crl.location",
        "barnabas.ssl.handshake.timeout.ms",
        "barnabas.zookeeper.digest",
        "broker.id",
        "broker.id.generation.enable",
        "broker.rack",
        "compression.type",
        "connection.failed.authentication.delay.ms",
        "connections.max.idle.ms",
        "connections.max.reauth.ms",
        "control.plane.listener.name",
        "controlled.shutdown.enable",
        "controlled.shutdown.max.retries",
        "controlled.shutdown.retry.backoff.ms",
        "controller.quota.window.num",
        "controller.quota.window.size.seconds",
        "controller.socket.timeout.ms",
        "default.replication.factor",
        "delegation.token.expiry.check.interval.ms",
        "delegation.token.expiry.time.ms",
        "delegation.token.master.key",
        "delegation.token.max.lifetime.ms",
        "delete.topic.enable",
        "fetch.max.bytes",
        "group.initial.rebalance.delay.ms",
        "group.max.session.timeout.ms",
        "group.max.size",
        "group.min.session.timeout.ms",
        "host.name",
        "inter.broker.listener.name",
        "inter.broker.protocol.version",
        "leader.imbalance.check.interval.seconds",
        "leader.imbalance.per.broker.percentage",
        "listener.security.protocol.map",
        "listeners",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.delete.retention.ms",
        "log.cleaner.enable",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.max.compaction.lag.ms",
        "log.cleaner.min.cleanable.ratio",
        "log.cleaner.min.compaction.lag.ms",
        "log.cleaner.threads",
        "log.cleanup.policy",
        "log.dir",
        "log.dirs",
        "log.flush.interval.messages",
        "log.flush.interval.ms",
        "log.flush.offset.checkpoint.interval.ms",
        "log.flush.scheduler.interval.ms",
        "log.flush.start.offset.checkpoint.interval.ms",
        "log.index.interval.bytes",
        "log.index.size.max.bytes",
        "log.message.downconversion.enable",
        "log.message.format.version",
        "log.message.timestamp.difference.max.ms",
        "log.message.timestamp.type",
        "log.preallocate",
        "log.retention.bytes",
        "log.retention.check.interval.ms",
        "log.retention.hours",
        "log.retention.minutes",
        "log.retention.ms",
        "log.roll.hours",
        "log.roll.jitter.hours",
        "log.roll.jitter.ms",
        "log.roll.ms",
        "log.segment.bytes",
        "log.segment.delete.delay.ms",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "max.incremental.fetch.session.cache.slots",
        "message.max.bytes",
        "min.insync.replicas",
        "num.partitions",
        "num.recovery.threads.per.data.dir",
        "num.replica.alter.log.dirs.threads",
        "num.replica.fetchers",
        "offset.metadata.max.bytes",
        "offsets.commit.required.acks",
        "offsets.commit.timeout.ms",
        "offsets.retention.check.interval.ms",
        "offsets.retention.minutes",
        "offsets.topic.compression.codec",
        "offsets.topic.num.partitions",
        "offsets.topic.replication.factor",
        "offsets.topic.segment.bytes",
        "password.encoder.cipher.algorithm",
        "password.encoder.iterations",
        "password.encoder.key.length",
        "password.encoder.keyfactory.algorithm",
        "password.encoder.old.secret",
        "password.encoder.secret",
        "port",
        "queued.max.request.bytes",
        "quota.consumer.default",
        "quota.producer.default",
        "quota.window.num",
        "quota.window.size.seconds",
        "replica.fetch.backoff.ms",
        "replica.fetch.max.bytes",
        "replica.fetch.min.bytes",
        "replica.fetch.response.max.bytes",
        "replica.fetch.wait.max.ms",
        "replica.high.watermark.checkpoint.interval.ms",
        "replica.lag.time.max.ms",
        "replica.selector.class",
        "replica.socket.timeout.ms",
        "replication.quota.window.num",
        "replication.quota.window.size.seconds",
        "request.timeout.ms",
        "reserved.broker.max.id",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.mechanism.inter.broker.protocol",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.server.max.receive.size",
        "security.inter.broker.protocol",
        "socket.receive.buffer.bytes",
        "socket.request.max.bytes",
        "socket.send.buffer.bytes",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.principal.mapping.rules",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "super.users",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        "transaction.max.timeout.ms",
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        "transaction.state.log.min.isr",
        "transaction.state.log.num.partitions",
        "transaction.state.log.replication.factor",
        "transaction.state.log.segment.bytes",
        "transactional.id.expiration.ms",
        "unclean.leader.election.enable",
        "zookeeper.clientCnxnSocket",
        "zookeeper.connect",
        "zookeeper.connection.timeout.ms",
        "zookeeper.max.in.flight.requests",
        "zookeeper.session.timeout.ms",
        "zookeeper.set.acl",
        "zookeeper.ssl.cipher.suites",
        "zookeeper.ssl.client.enable",
        "zookeeper.ssl.enabled.protocols",
        "zookeeper.ssl.endpoint.identification.algorithm",
        "zookeeper.ssl.keystore.password",
        "zookeeper.ssl.protocol",
    ]
)

PARTLY_HONOURED: dict[str, str] = {
    "num.io.threads": "works with num.network.threads: how much `request_percentage` of 100 is of all time",
    "num.network.threads": "works with num.io.threads: how much `request_percentage` of 100 is of all time",
    "zookeeper.ssl.crl.enable": "works as false; true is refused",
    "zookeeper.ssl.keystore.location": "works with PEM",
    "zookeeper.ssl.keystore.type": "works with PEM",
    "zookeeper.ssl.ocsp.enable": "works as false; true is refused",
    "zookeeper.ssl.truststore.location": "works with PEM",
    "zookeeper.ssl.truststore.type": "works with PEM",
}

REFUSED = {
    name: "refused but for Kafka's own class" if setting.accepted else "refused"
    for name, setting in CLASS_SETTINGS.items()
    if name not in HONOURED
}

WITHOUT_EFFECT = frozenset(
    [
        "delete.records.purgatory.purge.interval.requests",
        "fetch.purgatory.purge.interval.requests",
        "kafka.metrics.polling.interval.secs",
        "kafka.metrics.reporters",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "offsets.load.buffer.size",
        "producer.purgatory.purge.interval.requests",
        "queued.max.requests",
        "replica.socket.receive.buffer.bytes",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "transaction.state.log.load.buffer.size",
        "zookeeper.ssl.truststore.password",
        "zookeeper.sync.time.ms",
    ]
)


WORKS, NO_EFFECT = "works", "no effect"


def status(name: str) -> str:
    """Return how a broker's setting is supported: `works`, the part that works, or the reason why it does not."""
    if name in HONOURED:
        return WORKS
    return PARTLY_HONOURED.get(name) or REFUSED.get(name, NO_EFFECT)


def ineffective(names: Collection[str], has_zookeeper: bool) -> list[str]:
    """Return the known settings of a file that have no effect, sorted."""
    return sorted(
        name
        for name in names
        if find_file_setting(name) is not None
        and (told := status(name_for_any(name))) != WORKS
        and (told == NO_EFFECT or (name.startswith("zookeeper.") and not has_zookeeper))
    )


def unread(names: Collection[str], listeners: Collection[Endpoint]) -> dict[str, str]:
    """Return the known settings with a listener's prefix that none of a file's listeners reads, and the reasons."""
    protocols = {each.listener_name.lower(): each.security_protocol for each in listeners}
    found = {}
    for name in sorted(names):
        listener_name = name.removeprefix(LISTENER_PREFIX).partition(".")[0]
        if not name.startswith(LISTENER_PREFIX) or listener_name == "registry" or find_file_setting(name) is None:
            continue
        if listener_name not in protocols:
            found[name] = f"the listeners are {', '.join(protocols)}"
        elif name != name.lower():
            found[name] = "names of mechanisms must be in lower case"
        elif protocols[listener_name] == "SASL_SSL" and name.endswith(".ssl.client.auth"):
            found[name] = "SASL clients need no certificate"
    return found


def unknown(names: Collection[str]) -> list[str]:
    """Return the settings of a file that Kafka does not know and would ignore, sorted."""
    return sorted(name for name in names if find_file_setting(name) is None and not name.startswith(OWN_PREFIX))


def startup_warnings(config: BrokerConfig) -> list[str]:
    """Return log lines about given settings that have no effect."""
    found = ineffective(config.given, bool(config.zookeeper_connect))
    reasons = unread(config.given, config.endpoints)
    return [
        *([f"without effect here: {', '.join(found)}"] if found else []),
        # Listeners may be added while the broker runs, and read them then.
        *(f"no listener of the file reads {name}: {why}" for name, why in reasons.items()),
        *unknown_warnings(config.given),
    ]


def unknown_warnings(names: Collection[str]) -> list[str]:
    """Return log lines about unknown settings of a file, in Kafka's words."""
    return [
        f"The configuration '{name}' was supplied but isn't a known config{hint(name) or '.'}"
        for name in unknown(names)
    ]
