"""A sentence about each setting, for DescribeConfigs (on request) and docs/configs.md.

The texts are Barnabas's own, not Kafka's. A topic's setting and the broker's setting behind it share a text. Only code
that serves such requests imports this module: a broker starts without it.

The text of a setting without effect, or with a partial one, ends with that fact, from the table in `support`.
"""

from barnabas.core.config.settings import BROKER_SETTINGS, TOPIC_SETTINGS
from barnabas.core.config.support import WORKS, status


def document_broker_setting(name: str) -> str | None:
    """Return a text of at most 240 characters; None if a broker has no such declared setting (a listener's, say)."""
    if name not in BROKER_SETTINGS:
        return None
    told = status(name)
    if told == WORKS:
        return TEXTS[name]
    return f"{TEXTS[name]} In Barnabas: {told.replace('`', '')}."


def document_topic_setting(name: str) -> str | None:
    """Return a text of at most 240 characters; None if a topic has no such setting."""
    if name not in TOPIC_SETTINGS:
        return None
    return TEXTS[TOPIC_SETTINGS[name].extra]


# By the broker's name, where a topic's setting has one.
TEXTS = {
    "advertised.host.name": (
        "Old form of advertised.listeners: the host that clients are told, used only where neither listeners nor "
        "advertised.listeners is set."
    ),
    "advertised.listeners": (
        "The addresses that clients are told to connect to, where they are others than those of listeners."
    ),
    "advertised.port": (
        "Old form of advertised.listeners: the port that clients are told, used only where neither listeners nor "
        "advertised.listeners is set."
    ),
    "alter.config.policy.class.name": "The class that may refuse a change of settings.",
    "alter.log.dirs.replication.quota.window.num": (
        "How many windows are kept to measure moves of replicas between directories."
    ),
    "alter.log.dirs.replication.quota.window.size.seconds": (
        "How long each window is in which moves of replicas between directories are measured."
    ),
    "authorizer.class.name": (
        "Who decides who may do what: empty for nobody being stopped, or kafka.security.authorizer.AclAuthorizer, "
        "which goes by access rules (docs/security.md)."
    ),
    "auto.create.topics.enable": "Whether a topic is created when a client asks for one that does not exist.",
    "auto.leader.rebalance.enable": (
        "Whether leadership goes back by itself to the replica that comes first in a partition's list."
    ),
    "background.threads": "How many threads do what runs beside requests: retention, flushing, the renaming of files.",
    "barnabas.facts.max.bytes": (
        "How much memory may hold what happened of late, for barnabas explain: why groups rebalanced, who was held or "
        "refused, slow requests, how ends and commits grew. 0 keeps nothing."
    ),
    "barnabas.http.listeners": (
        "Where /metrics, /health and /ready are served by HTTP: host:port, or a port of this machine alone; several "
        "divided by commas. Nobody has to log in there. Empty for nowhere."
    ),
    "barnabas.jaas.config.file": (
        "A JAAS file, for Kafka's java.security.auth.login.config: sections KafkaServer say who may log in, Client "
        "logs in to ZooKeeper. Unset, the one that KAFKA_OPTS names."
    ),
    "barnabas.login.timeout.ms": (
        "How long a client may take to log in on a listener with SASL or TLS, from when it connects, in milliseconds, "
        "the handshake of TLS included; with TLS alone, until its first request. Then its connection is closed."
    ),
    "barnabas.metrics.max.entities": (
        "How many topics, partitions and clients /metrics lists each; sums are of all, and "
        "barnabas_metrics_left_out says how many are left out."
    ),
    "barnabas.record.validation": (
        "What is checked of produced batches that nothing has to be rewritten in: headers is the batch's header and "
        "CRC, full is each record too."
    ),
    "barnabas.registry.listeners": (
        "Where ZooKeeper's clients find the cluster's state that this broker keeps: host:port or a port, several "
        "divided by commas; empty for nowhere. All may change it, unless barnabas.registry.super.users says who."
    ),
    "barnabas.registry.min.session.timeout.ms": (
        "How long a session of ZooKeeper's clients lasts at least, in milliseconds, whatever they ask for: as "
        "minSessionTimeout of a ZooKeeper."
    ),
    "barnabas.registry.ssl.listeners": (
        "Where ZooKeeper's clients find it by TLS, with the keys of ssl.*, or of listener.name.registry.ssl.*. Empty "
        "for nowhere."
    ),
    "barnabas.registry.super.users": (
        "Who may do everything by those listeners: digest:USER:BASE64 (SHA-1 of USER:PASSWORD) or x509:SUBJECT, "
        "divided by semicolons. Where it is set, others change nothing of the broker's and read no credentials."
    ),
    "barnabas.request.max.array.elements": (
        "How many array elements a request may have in all; the connection of a larger one is closed."
    ),
    "barnabas.ssl.crl.location": (
        "A file with lists of revoked certificates, in PEM: a client with one of these is refused. It is read again "
        "when it changes; a list that has expired refuses everybody."
    ),
    "barnabas.ssl.handshake.timeout.ms": (
        "How long a client may take for the handshake of TLS, in milliseconds; then its connection is closed."
    ),
    "barnabas.zookeeper.digest": (
        "User and password, USER:PASSWORD, of ZooKeeper's scheme digest, by which the broker logs in there."
    ),
    "broker.id": (
        "The number of this broker; each broker of a cluster has its own. -1 for one that is made up at the first "
        "start."
    ),
    "broker.id.generation.enable": "Whether a broker without an id gets one, above reserved.broker.max.id.",
    "broker.rack": "The rack that this broker stands in; the replicas of a partition are spread over racks.",
    "client.quota.callback.class": "The class that says which quota a client has.",
    "compression.type": (
        "How records are compressed in the log: gzip, snappy, lz4 or zstd, uncompressed for not at all, producer for "
        "as they came."
    ),
    "connection.failed.authentication.delay.ms": (
        "How long a connection whose authentication failed stays open, in milliseconds, to slow down those who guess."
    ),
    "connections.max.idle.ms": "A connection on which nothing was said for this long, in milliseconds, is closed.",
    "connections.max.reauth.ms": (
        "How long a SASL session lasts, in milliseconds, before the client must authenticate again; 0 for as long as "
        "its connection."
    ),
    "control.plane.listener.name": (
        "The listener of each broker that the controller's requests go to, and those to the controller; unset for the "
        "one that brokers meet on."
    ),
    "controlled.shutdown.enable": "Whether a broker hands over its leadership of partitions before it stops.",
    "controlled.shutdown.max.retries": "How often a broker that stops tries to hand over its partitions.",
    "controlled.shutdown.retry.backoff.ms": (
        "How long a broker that stops waits, in milliseconds, before it tries again to hand over its partitions."
    ),
    "controller.quota.window.num": (
        "How many windows are kept to measure changes of topics and partitions against quotas."
    ),
    "controller.quota.window.size.seconds": (
        "How long each window is in which changes of topics and partitions are measured against quotas."
    ),
    "controller.socket.timeout.ms": "How long the controller waits for a broker's answer, in milliseconds.",
    "create.topic.policy.class.name": "The class that may refuse a new topic.",
    "default.replication.factor": (
        "How many replicas the partitions of a topic have that is created by itself, or without a number of its own."
    ),
    "delegation.token.expiry.check.interval.ms": "How often expired delegation tokens are looked for, in milliseconds.",
    "delegation.token.expiry.time.ms": "How long a delegation token holds, in milliseconds, before it must be renewed.",
    "delegation.token.master.key": "The secret that delegation tokens are signed with, the same on all brokers.",
    "delegation.token.max.lifetime.ms": "How long a delegation token can be renewed, in milliseconds.",
    "delete.records.purgatory.purge.interval.requests": (
        "After how many finished requests to delete records those that wait are tidied up."
    ),
    "delete.topic.enable": "Whether topics can be deleted.",
    "fetch.max.bytes": (
        "How much one answer to a fetch carries at the most, in bytes, whatever the client asks for; a first batch "
        "that is larger is sent all the same."
    ),
    "fetch.purgatory.purge.interval.requests": "After how many finished fetches those that wait are tidied up.",
    "follower.replication.throttled.rate": (
        "How many bytes per second this broker fetches at the most of throttled partitions in which it is not in sync."
    ),
    "follower.replication.throttled.replicas": (
        "The followers of this topic whose replication is throttled, as partition:broker,...; * for all."
    ),
    "group.initial.rebalance.delay.ms": (
        "How long the first rebalance of an empty group waits for more members, in milliseconds."
    ),
    "group.max.session.timeout.ms": (
        "The longest session timeout, in milliseconds, that a member of a group may ask for."
    ),
    "group.max.size": "How many members a group has at the most.",
    "group.min.session.timeout.ms": (
        "The shortest session timeout, in milliseconds, that a member of a group may ask for."
    ),
    "host.name": (
        "Old form of listeners: the address to listen on, used only where listeners is not set; empty for all."
    ),
    "inter.broker.listener.name": (
        "The listener that brokers meet on; unset for the one whose protocol is security.inter.broker.protocol."
    ),
    "inter.broker.protocol.version": (
        "The version of Kafka that brokers speak among themselves, and whose records of groups and transactions they "
        "write."
    ),
    "kafka.metrics.polling.interval.secs": "How often reporters of Yammer's metrics are asked to report, in seconds.",
    "kafka.metrics.reporters": "The classes that Yammer's metrics are reported by.",
    "leader.imbalance.check.interval.seconds": (
        "How often it is looked at whether leadership should go back to the preferred replicas, in seconds."
    ),
    "leader.imbalance.per.broker.percentage": (
        "Which share of its partitions, in percent, may be led by others than this broker before leadership goes back "
        "to it."
    ),
    "leader.replication.throttled.rate": (
        "How many bytes per second this broker gives at the most to followers of throttled partitions that are not in "
        "sync."
    ),
    "leader.replication.throttled.replicas": (
        "The leaders of this topic whose replication is throttled, as partition:broker,...; * for all."
    ),
    "listener.security.protocol.map": (
        "Which security protocol each name of a listener stands for, as NAME:PROTOCOL,..."
    ),
    "listeners": (
        "The addresses to listen on, as NAME://host:port,...; an empty host is the default interface, 0.0.0.0 is all "
        "of them."
    ),
    "log.cleaner.backoff.ms": "How long compaction rests, in milliseconds, when there is nothing to compact.",
    "log.cleaner.dedupe.buffer.size": (
        "How much memory all threads of compaction have together to remember keys in, in bytes."
    ),
    "log.cleaner.delete.retention.ms": (
        "How long compaction keeps a record without a value (a deletion), in milliseconds, so that readers can see it."
    ),
    "log.cleaner.enable": "Whether logs with cleanup policy compact are compacted.",
    "log.cleaner.io.buffer.load.factor": "How full the memory for keys may become in a run of compaction, 0 to 1.",
    "log.cleaner.io.buffer.size": (
        "How much memory all threads of compaction have together for reading and writing, in bytes."
    ),
    "log.cleaner.io.max.bytes.per.second": "How many bytes per second compaction reads and writes at the most.",
    "log.cleaner.max.compaction.lag.ms": (
        "How long a record may wait for compaction, in milliseconds; after that its log is compacted however little "
        "of it is new."
    ),
    "log.cleaner.min.cleanable.ratio": (
        "Which share of a log, 0 to 1, must have been written since it was compacted before it is again."
    ),
    "log.cleaner.min.compaction.lag.ms": (
        "How long compaction leaves a record alone after it was written, in milliseconds."
    ),
    "log.cleaner.threads": "How many threads compact logs.",
    "log.cleanup.policy": (
        "What becomes of old records: delete drops segments by age and size, compact keeps the last record of each "
        "key; both may be given."
    ),
    "log.dir": "The directory that logs are kept in, used only where log.dirs is not set.",
    "log.dirs": "The directories that logs are kept in, with commas between them.",
    "log.flush.interval.messages": "After how many records a partition's log is written to the disk for good (fsync).",
    "log.flush.interval.ms": "After how many milliseconds new records are written to the disk for good (fsync).",
    "log.flush.offset.checkpoint.interval.ms": (
        "How often it is noted up to where logs are on the disk, in milliseconds; a start after a crash checks what "
        "comes after."
    ),
    "log.flush.scheduler.interval.ms": (
        "How often it is looked at which logs are due for the disk, in milliseconds; used as log.flush.interval.ms "
        "where that is not set."
    ),
    "log.flush.start.offset.checkpoint.interval.ms": "How often it is noted where logs begin, in milliseconds.",
    "log.index.interval.bytes": (
        "After how many bytes of records an index gets another entry: fewer make larger indexes and shorter searches."
    ),
    "log.index.size.max.bytes": (
        "How large an index may become, in bytes; the segment is rolled before it outgrows that."
    ),
    "log.message.downconversion.enable": (
        "Whether records are converted for consumers that only know older formats; if not, these get an error."
    ),
    "log.message.format.version": (
        "The version of Kafka in whose record format the log is written; later producers' records are converted to it."
    ),
    "log.message.timestamp.difference.max.ms": (
        "How far a record's timestamp may be from the broker's time, in milliseconds; others are refused. Used with "
        "CreateTime only."
    ),
    "log.message.timestamp.type": (
        "Whose time a record has: the producer's (CreateTime) or the broker's when it is appended (LogAppendTime)."
    ),
    "log.preallocate": "Whether the disk's room for a whole segment is reserved when it is made.",
    "log.retention.bytes": (
        "How large a partition may become, in bytes, before its oldest segments are deleted; -1 for no limit."
    ),
    "log.retention.check.interval.ms": (
        "How often it is looked at which segments may be deleted, in milliseconds; first 30 seconds after the start."
    ),
    "log.retention.hours": (
        "How long records are kept, in hours, used only where neither log.retention.minutes nor log.retention.ms is "
        "set."
    ),
    "log.retention.minutes": "How long records are kept, in minutes, used only where log.retention.ms is not set.",
    "log.retention.ms": (
        "How long records are kept, in milliseconds, before their segment may be deleted; -1 for no limit."
    ),
    "log.roll.hours": "After how many hours a new segment is begun, used only where log.roll.ms is not set.",
    "log.roll.jitter.hours": (
        "By how many hours at the most segments are rolled earlier by chance, used only where log.roll.jitter.ms is "
        "not set."
    ),
    "log.roll.jitter.ms": (
        "By how many milliseconds at the most segments are rolled earlier by chance, so that not all do it at once."
    ),
    "log.roll.ms": "After how many milliseconds a new segment is begun, even if the last one is not full.",
    "log.segment.bytes": "How large a segment of a log may become, in bytes, before a new one is begun.",
    "log.segment.delete.delay.ms": (
        "How long the files of a deleted segment stay, in milliseconds, for those who still read them."
    ),
    "max.connection.creation.rate": "How many new connections per second are taken; the others wait.",
    "max.connections": "How many connections there may be at once.",
    "max.connections.per.ip": "How many connections one address may have at once.",
    "max.connections.per.ip.overrides": (
        "Other limits than max.connections.per.ip for some addresses, as host:number,..."
    ),
    "max.incremental.fetch.session.cache.slots": "How many fetch sessions are remembered at once.",
    "message.max.bytes": "How large a batch of records may be, in bytes, as it is stored (compressed).",
    "metric.reporters": "The classes that metrics are reported by.",
    "metrics.num.samples": "Over how many samples metrics are computed.",
    "metrics.recording.level": "Which metrics are recorded: INFO for few, DEBUG for more, TRACE for all.",
    "metrics.sample.window.ms": "How long a sample is that metrics are computed over, in milliseconds.",
    "min.insync.replicas": "How many replicas must be in sync for a write with acks=all to be taken.",
    "num.io.threads": "How many threads handle requests.",
    "num.network.threads": "How many threads read and write connections, for each listener.",
    "num.partitions": "How many partitions a topic has that is created by itself, or without a number of its own.",
    "num.recovery.threads.per.data.dir": "How many threads open logs at the start, for each of the log directories.",
    "num.replica.alter.log.dirs.threads": (
        "How many replicas are moved between directories at once; unset for as many as there are directories."
    ),
    "num.replica.fetchers": "How many threads copy from each other broker.",
    "offset.metadata.max.bytes": "How much text a group may store with a committed offset, in bytes.",
    "offsets.commit.required.acks": (
        "How many replicas must have a committed offset before it is answered; -1 for all that are in sync."
    ),
    "offsets.commit.timeout.ms": (
        "How long a commit of offsets may take, in milliseconds, before it is answered with an error."
    ),
    "offsets.load.buffer.size": (
        "How much of a partition of __consumer_offsets is read at once when it is loaded, in bytes."
    ),
    "offsets.retention.check.interval.ms": (
        "How often it is looked at which committed offsets have expired, in milliseconds."
    ),
    "offsets.retention.minutes": "How long the committed offsets of a group without members are kept, in minutes.",
    "offsets.topic.compression.codec": (
        "How the broker compresses what it writes to __consumer_offsets: 0 not at all, 1 gzip, 2 snappy, 3 lz4, 4 zstd."
    ),
    "offsets.topic.num.partitions": (
        "How many partitions __consumer_offsets is created with; it must not change afterwards."
    ),
    "offsets.topic.replication.factor": (
        "How many replicas the partitions of __consumer_offsets have; it is not created before there are as many "
        "brokers."
    ),
    "offsets.topic.segment.bytes": (
        "How large a segment of __consumer_offsets may become, in bytes; small ones are loaded and compacted sooner."
    ),
    "password.encoder.cipher.algorithm": (
        "The cipher that passwords are encrypted with before they are stored among the cluster's settings."
    ),
    "password.encoder.iterations": "How many rounds turn password.encoder.secret into a key.",
    "password.encoder.key.length": "How long the key is that passwords are encrypted with, in bits.",
    "password.encoder.keyfactory.algorithm": (
        "How password.encoder.secret is turned into a key; unset for PBKDF2 with the best hash that there is."
    ),
    "password.encoder.old.secret": (
        "The secret that stored passwords were encrypted with before; given at the start at which "
        "password.encoder.secret is another one."
    ),
    "password.encoder.secret": (
        "The secret that passwords are encrypted with before they are stored among the cluster's settings."
    ),
    "port": "Old form of listeners: the port to listen on, used only where listeners is not set.",
    "principal.builder.class": "The class that says who a connection belongs to.",
    "producer.purgatory.purge.interval.requests": (
        "After how many finished produce requests those that wait are tidied up."
    ),
    "queued.max.request.bytes": (
        "How much memory received requests may take together, in bytes, before no more is read."
    ),
    "queued.max.requests": "How many received requests may wait for a thread before no more is read.",
    "quota.consumer.default": "Old form of a default quota: how many bytes per second a client may fetch.",
    "quota.producer.default": "Old form of a default quota: how many bytes per second a client may produce.",
    "quota.window.num": "How many windows are kept to measure clients against quotas.",
    "quota.window.size.seconds": "How long each window is in which clients are measured against quotas.",
    "replica.alter.log.dirs.io.max.bytes.per.second": (
        "How many bytes per second this broker copies at the most of replicas that move between its directories."
    ),
    "replica.fetch.backoff.ms": "How long a follower waits after an error of its leader, in milliseconds.",
    "replica.fetch.max.bytes": "How much of one partition a follower asks for at once, in bytes.",
    "replica.fetch.min.bytes": "How much a follower's fetch waits for, in bytes.",
    "replica.fetch.response.max.bytes": "How much a follower asks for at once, in bytes, of all partitions together.",
    "replica.fetch.wait.max.ms": "How long a follower's fetch waits for records, in milliseconds.",
    "replica.high.watermark.checkpoint.interval.ms": (
        "How often high watermarks are written to the disk, in milliseconds."
    ),
    "replica.lag.time.max.ms": (
        "How long a follower may lag behind, in milliseconds, before it does not count as in sync."
    ),
    "replica.selector.class": (
        "Set to org.apache.kafka.common.replica.RackAwareReplicaSelector, consumers that say their rack read from a "
        "replica in it; unset from the leader."
    ),
    "replica.socket.receive.buffer.bytes": (
        "How large the receive buffer of a connection to another broker is, in bytes."
    ),
    "replica.socket.timeout.ms": "How long a follower waits for its leader's answer, in milliseconds.",
    "replication.quota.window.num": "How many windows are kept to measure replication that is throttled.",
    "replication.quota.window.size.seconds": (
        "How long each window is in which replication that is throttled is measured."
    ),
    "request.timeout.ms": (
        "How long a request to another broker, or a write of a transaction's state, may take, in milliseconds."
    ),
    "reserved.broker.max.id": (
        "The highest id that may be given to a broker by hand; those that are made up come after it."
    ),
    "sasl.client.callback.handler.class": "The class that gives a client of SASL what it is asked for.",
    "sasl.enabled.mechanisms": "The SASL mechanisms that clients may authenticate with.",
    "sasl.jaas.config": (
        "How SASL logs in, as a line of a JAAS file; for a listener with listener.name.NAME.MECHANISM. before it."
    ),
    "sasl.kerberos.kinit.cmd": "Where Kerberos's kinit is.",
    "sasl.kerberos.min.time.before.relogin": "How long Kerberos waits between two logins at least, in milliseconds.",
    "sasl.kerberos.principal.to.local.rules": (
        "How a Kerberos principal becomes a short name; the first rule that fits counts."
    ),
    "sasl.kerberos.service.name": "The name that brokers have in Kerberos.",
    "sasl.kerberos.ticket.renew.jitter": "Which share of the renewal time of a Kerberos ticket is left to chance.",
    "sasl.kerberos.ticket.renew.window.factor": "After which share of a Kerberos ticket's life it is renewed.",
    "sasl.login.callback.handler.class": "The class that gives a login of SASL what it is asked for.",
    "sasl.login.class": "The class that logs in for SASL.",
    "sasl.login.refresh.buffer.seconds": (
        "How many seconds before its end a credential is renewed at the latest (OAUTHBEARER)."
    ),
    "sasl.login.refresh.min.period.seconds": (
        "How many seconds a credential is used at least before it is renewed (OAUTHBEARER)."
    ),
    "sasl.login.refresh.window.factor": "After which share of a credential's life it is renewed (OAUTHBEARER).",
    "sasl.login.refresh.window.jitter": (
        "Which share of a credential's life is added by chance before it is renewed (OAUTHBEARER)."
    ),
    "sasl.mechanism.inter.broker.protocol": "The SASL mechanism that brokers use among themselves.",
    "sasl.oauthbearer.clock.skew.seconds": "How far the clock of who makes tokens may be off, in seconds.",
    "sasl.oauthbearer.expected.audience": "Whom tokens must be for: one of these; empty for anybody.",
    "sasl.oauthbearer.expected.issuer": "Who must have made a token (its claim iss); empty for anybody with a key.",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "How often public keys for tokens are read again, in milliseconds.",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": (
        "The longest pause before public keys that could not be read are tried again, in milliseconds."
    ),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": (
        "The first pause before public keys that could not be read are tried again, in milliseconds; it doubles."
    ),
    "sasl.oauthbearer.jwks.endpoint.url": (
        "Where the public keys (JWKS) are by which tokens are judged: a URL with https, http or file."
    ),
    "sasl.oauthbearer.sub.claim.name": "The claim of a token that holds the user's name.",
    "sasl.server.callback.handler.class": "The class that gives a server of SASL what it is asked for.",
    "sasl.server.max.receive.size": (
        "How large a request may be on a listener with SASL before the client has logged in, and when it logs in "
        "again, in bytes: raise it for tokens that are larger."
    ),
    "security.inter.broker.protocol": (
        "The security protocol that brokers use among themselves, where inter.broker.listener.name is not set."
    ),
    "security.providers": "The classes that add Java's security providers.",
    "socket.connection.setup.timeout.max.ms": (
        "How long setting up a connection may take after many failures, in milliseconds."
    ),
    "socket.connection.setup.timeout.ms": (
        "How long setting up a connection may take, in milliseconds; twice as long after each failure."
    ),
    "socket.receive.buffer.bytes": (
        "How large the receive buffer of a client's connection is in the kernel, in bytes; -1 for the system's own "
        "size."
    ),
    "socket.request.max.bytes": "How large a request may be, in bytes; the connection of a larger one is closed.",
    "socket.send.buffer.bytes": (
        "How large the send buffer of a client's connection is in the kernel, in bytes; -1 for the system's own size."
    ),
    "ssl.cipher.suites": "The cipher suites that TLS may use; empty for the platform's own.",
    "ssl.client.auth": "Whether clients need a certificate: required, requested (asked for, not insisted on) or none.",
    "ssl.enabled.protocols": "The versions of TLS that may be used.",
    "ssl.endpoint.identification.algorithm": (
        "How the name in a server's certificate is checked: https, or empty for not at all."
    ),
    "ssl.engine.factory.class": "The class that makes the engines of TLS.",
    "ssl.key.password": "The password of the private key.",
    "ssl.keymanager.algorithm": "The algorithm of Java's key manager.",
    "ssl.keystore.certificate.chain": "The broker's certificate and those above it, in PEM.",
    "ssl.keystore.key": "The private key of the broker's certificate, in PEM.",
    "ssl.keystore.location": "The file with the broker's private key and certificate.",
    "ssl.keystore.password": "The password of the file with the private key.",
    "ssl.keystore.type": "The format of the file with the private key.",
    "ssl.principal.mapping.rules": (
        "How the name in a client's certificate becomes a user's; the first rule that fits counts."
    ),
    "ssl.protocol": "The version of TLS that is used if nothing else is agreed on.",
    "ssl.provider": "Which of Java's security providers TLS comes from.",
    "ssl.secure.random.implementation": "Where TLS takes its random numbers from.",
    "ssl.trustmanager.algorithm": "The algorithm of Java's trust manager.",
    "ssl.truststore.certificates": "The certificates that are trusted, in PEM.",
    "ssl.truststore.location": "The file with the certificates that are trusted.",
    "ssl.truststore.password": "The password of the file with the certificates that are trusted.",
    "ssl.truststore.type": "The format of the file with the certificates that are trusted.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (
        "How often transactions that took longer than their timeout are looked for and aborted, in milliseconds."
    ),
    "transaction.max.timeout.ms": "The longest timeout of transactions that a producer may ask for, in milliseconds.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": (
        "How often transactional ids that nobody used for long are looked for and forgotten, in milliseconds."
    ),
    "transaction.state.log.load.buffer.size": (
        "How much of a partition of __transaction_state is read at once when it is loaded, in bytes."
    ),
    "transaction.state.log.min.isr": "min.insync.replicas of __transaction_state.",
    "transaction.state.log.num.partitions": (
        "How many partitions __transaction_state is created with; it must not change afterwards."
    ),
    "transaction.state.log.replication.factor": (
        "How many replicas the partitions of __transaction_state have; it is not created before there are as many "
        "brokers."
    ),
    "transaction.state.log.segment.bytes": (
        "How large a segment of __transaction_state may become, in bytes; small ones are loaded and compacted sooner."
    ),
    "transactional.id.expiration.ms": "After how many milliseconds without use a transactional id is forgotten.",
    "unclean.leader.election.enable": (
        "Whether a replica that is not in sync may become leader where there is no other, which loses records."
    ),
    "zookeeper.clientCnxnSocket": "The class of the connection to ZooKeeper.",
    "zookeeper.connect": "Where ZooKeeper is, as host:port,... with the path of the cluster's tree behind it.",
    "zookeeper.connection.timeout.ms": (
        "How long connecting to ZooKeeper may take, in milliseconds; unset for zookeeper.session.timeout.ms."
    ),
    "zookeeper.max.in.flight.requests": "How many requests to ZooKeeper may wait for their answers at once.",
    "zookeeper.session.timeout.ms": "After how many milliseconds without a word ZooKeeper takes a broker for gone.",
    "zookeeper.set.acl": "Whether what is written to ZooKeeper may be changed by brokers only.",
    "zookeeper.ssl.cipher.suites": "The cipher suites that TLS to ZooKeeper may use.",
    "zookeeper.ssl.client.enable": "Whether ZooKeeper is spoken to over TLS.",
    "zookeeper.ssl.crl.enable": "Whether ZooKeeper's certificate is looked up in lists of revoked ones.",
    "zookeeper.ssl.enabled.protocols": "The versions of TLS that may be used to ZooKeeper.",
    "zookeeper.ssl.endpoint.identification.algorithm": (
        "How the name in ZooKeeper's certificate is checked: HTTPS, or empty for not at all."
    ),
    "zookeeper.ssl.keystore.location": "The file with the private key and certificate for ZooKeeper.",
    "zookeeper.ssl.keystore.password": "The password of the file with the private key for ZooKeeper.",
    "zookeeper.ssl.keystore.type": "The format of the file with the private key for ZooKeeper.",
    "zookeeper.ssl.ocsp.enable": "Whether ZooKeeper's certificate is asked about by OCSP.",
    "zookeeper.ssl.protocol": "The version of TLS to ZooKeeper that is used if nothing else is agreed on.",
    "zookeeper.ssl.truststore.location": "The file with the certificates that are trusted as ZooKeeper's.",
    "zookeeper.ssl.truststore.password": (
        "The password of the file with the certificates that are trusted as ZooKeeper's."
    ),
    "zookeeper.ssl.truststore.type": "The format of the file with the certificates that are trusted as ZooKeeper's.",
    "zookeeper.sync.time.ms": "How far a ZooKeeper follower may be behind its leader, in milliseconds.",
}
