"""A sentence about each setting, for DescribeConfigs (on request) and docs/configs.md.

The texts are Barnabas's own, not Kafka's. A topic's setting and the broker's setting behind it share a text. Only code
that serves such requests imports this module: a broker starts without it.

If a setting has no effect or a partial one, its text ends with this fact, from the table in `support`.
"""

from barnabas.core.config.settings import BROKER_SETTINGS, TOPIC_SETTINGS
from barnabas.core.config.support import WORKS, status


def document_broker_setting(name: str) -> str | None:
    """Return a text of at most 240 characters; None if no broker setting has exactly this name."""
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


# By the broker setting's name, for topic settings too if they have one.
TEXTS = {
    "advertised.host.name": (
        "Old form of advertised.listeners: the host for clients, used only if neither listeners nor "
        "advertised.listeners is set."
    ),
    "advertised.listeners": "The addresses to which clients connect, if they differ from listeners.",
    "advertised.port": (
        "Old form of advertised.listeners: the port for clients, used only if neither listeners nor "
        "advertised.listeners is set."
    ),
    "alter.config.policy.class.name": "A class that may reject changes of settings.",
    "alter.log.dirs.replication.quota.window.num": (
        "Number of windows for measuring moves of replicas between directories."
    ),
    "alter.log.dirs.replication.quota.window.size.seconds": (
        "Length of each window for measuring moves of replicas between directories."
    ),
    "authorizer.class.name": (
        "The authorizer: empty for none, or kafka.security.authorizer.AclAuthorizer, which applies access rules "
        "(docs/security.md)."
    ),
    "auto.create.topics.enable": "Whether a request for a missing topic creates the topic.",
    "auto.leader.rebalance.enable": (
        "Whether leadership returns automatically to the preferred replica, the first in a partition's list."
    ),
    "background.threads": "Number of threads for background work: retention, flushing, renaming of files.",
    "barnabas.facts.max.bytes": (
        "Memory limit of recent events for barnabas explain: rebalances, throttled and rejected clients, slow "
        "requests, growth of ends and commits. 0 records nothing."
    ),
    "barnabas.http.listeners": (
        "Addresses of /metrics, /health and /ready over HTTP, separated by commas: host:port, or a port of this "
        "machine alone. They require no login. Empty: none."
    ),
    "barnabas.jaas.config.file": (
        "A JAAS file, in place of Kafka's java.security.auth.login.config: sections KafkaServer list users, Client "
        "logs in to ZooKeeper. Unset: the file that KAFKA_OPTS names."
    ),
    "barnabas.login.timeout.ms": (
        "Time limit for a login on a listener with SASL or TLS, in milliseconds from the connect, TLS handshake "
        "included; with TLS alone, until the first request. Then the connection is closed."
    ),
    "barnabas.metrics.max.entities": (
        "Maximum number of topics, partitions and clients that /metrics lists, each; sums cover all, and "
        "barnabas_metrics_left_out counts the others."
    ),
    "barnabas.record.validation": (
        "Checks of produced batches that need no rewriting: headers checks the batch header and the CRC, full also "
        "each record."
    ),
    "barnabas.registry.listeners": (
        "Addresses where ZooKeeper clients reach the broker's own registry, separated by commas: host:port or a "
        "port; empty: none. Everyone may change it, unless barnabas.registry.super.users is set."
    ),
    "barnabas.registry.min.session.timeout.ms": (
        "Minimum session timeout of ZooKeeper clients, in milliseconds, like ZooKeeper's minSessionTimeout."
    ),
    "barnabas.registry.ssl.listeners": (
        "Addresses where ZooKeeper clients reach the registry over TLS, with the keys of ssl.* or of "
        "listener.name.registry.ssl.*. Empty: none."
    ),
    "barnabas.registry.super.users": (
        "Users with all rights on those listeners: digest:USER:BASE64 (SHA-1 of USER:PASSWORD) or x509:SUBJECT, "
        "separated by semicolons. If set, others cannot change the broker's nodes or read credentials."
    ),
    "barnabas.request.max.array.elements": (
        "Maximum number of array elements in a request; a larger request closes its connection."
    ),
    "barnabas.ssl.crl.location": (
        "A file with certificate revocation lists, in PEM: clients with a listed certificate are rejected. It is "
        "read again after a change; an expired list rejects everyone."
    ),
    "barnabas.ssl.handshake.timeout.ms": (
        "Time limit for a client's TLS handshake, in milliseconds; then the connection is closed."
    ),
    "barnabas.zookeeper.digest": (
        "User and password, USER:PASSWORD, for the broker's login to ZooKeeper by the scheme digest."
    ),
    "broker.id": "The id of this broker, unique in the cluster. -1: generated at the first start.",
    "broker.id.generation.enable": "Whether a broker without an id gets one, above reserved.broker.max.id.",
    "broker.rack": "The rack of this broker; the replicas of a partition are spread over racks.",
    "client.quota.callback.class": "A class that determines clients' quotas.",
    "compression.type": (
        "Compression of records in the log: gzip, snappy, lz4 or zstd; uncompressed for none; producer to keep the "
        "producer's."
    ),
    "connection.failed.authentication.delay.ms": (
        "How long a connection stays open after a failed authentication, in milliseconds, to slow down password "
        "guessing."
    ),
    "connections.max.idle.ms": "Idle time after which a connection is closed, in milliseconds.",
    "connections.max.reauth.ms": (
        "Length of a SASL session, in milliseconds, after which the client must authenticate again; 0: as long as "
        "the connection."
    ),
    "control.plane.listener.name": (
        "The listener for requests from and to the controller; unset: the inter-broker listener."
    ),
    "controlled.shutdown.enable": "Whether a broker hands over its leadership of partitions before it stops.",
    "controlled.shutdown.max.retries": "Number of attempts of a stopping broker to hand over its partitions.",
    "controlled.shutdown.retry.backoff.ms": (
        "Pause between attempts of a stopping broker to hand over its partitions, in milliseconds."
    ),
    "controller.quota.window.num": "Number of windows for measuring changes of topics and partitions against quotas.",
    "controller.quota.window.size.seconds": (
        "Length of each window for measuring changes of topics and partitions against quotas."
    ),
    "controller.socket.timeout.ms": "Time limit for a broker's answer to the controller, in milliseconds.",
    "create.topic.policy.class.name": "A class that may reject new topics.",
    "default.replication.factor": (
        "Number of replicas of automatically created topics, and of topics created without a number."
    ),
    "delegation.token.expiry.check.interval.ms": (
        "Interval of the search for expired delegation tokens, in milliseconds."
    ),
    "delegation.token.expiry.time.ms": "Lifetime of a delegation token before it must be renewed, in milliseconds.",
    "delegation.token.master.key": "The secret that delegation tokens are signed with, the same on all brokers.",
    "delegation.token.max.lifetime.ms": "Time during which a delegation token can be renewed, in milliseconds.",
    "delete.records.purgatory.purge.interval.requests": (
        "Number of finished DeleteRecords requests after which the purgatory is purged."
    ),
    "delete.topic.enable": "Whether topics can be deleted.",
    "fetch.max.bytes": (
        "Maximum size of a fetch response, in bytes, whatever the client requests; a larger first batch is still sent."
    ),
    "fetch.purgatory.purge.interval.requests": "Number of finished fetches after which the purgatory is purged.",
    "follower.replication.throttled.rate": (
        "Limit, in bytes per second, of this broker's fetches for throttled partitions in which it is not in sync."
    ),
    "follower.replication.throttled.replicas": (
        "The followers of this topic whose replication is throttled, as partition:broker,...; * for all."
    ),
    "group.initial.rebalance.delay.ms": (
        "How long the first rebalance of an empty group waits for more members, in milliseconds."
    ),
    "group.max.session.timeout.ms": "Maximum session timeout of group members, in milliseconds.",
    "group.max.size": "Maximum number of members of a group.",
    "group.min.session.timeout.ms": "Minimum session timeout of group members, in milliseconds.",
    "host.name": "Old form of listeners: the address to listen on, used only if listeners is not set; empty: all.",
    "inter.broker.listener.name": (
        "The listener for connections between brokers; unset: the one of security.inter.broker.protocol."
    ),
    "inter.broker.protocol.version": (
        "The Kafka version of the protocol between brokers, and of the records of groups and transactions."
    ),
    "kafka.metrics.polling.interval.secs": "Interval of the polls of Yammer metrics reporters, in seconds.",
    "kafka.metrics.reporters": "Classes of Yammer metrics reporters.",
    "leader.imbalance.check.interval.seconds": (
        "Interval of the check whether leadership should return to the preferred replicas, in seconds."
    ),
    "leader.imbalance.per.broker.percentage": (
        "Share of a broker's preferred partitions, in percent, that other brokers may lead before leadership returns."
    ),
    "leader.replication.throttled.rate": (
        "Limit, in bytes per second, of this broker's responses to followers of throttled partitions that are not "
        "in sync."
    ),
    "leader.replication.throttled.replicas": (
        "The leaders of this topic whose replication is throttled, as partition:broker,...; * for all."
    ),
    "listener.security.protocol.map": "The security protocol of each listener name, as NAME:PROTOCOL,...",
    "listeners": (
        "The addresses to listen on, as NAME://host:port,...; an empty host means all addresses of IPv4 and IPv6, "
        "0.0.0.0 all of IPv4."
    ),
    "log.cleaner.backoff.ms": "Pause of compaction when there is nothing to compact, in milliseconds.",
    "log.cleaner.dedupe.buffer.size": "Memory of all compaction threads for keys, in bytes.",
    "log.cleaner.delete.retention.ms": (
        "How long compaction keeps a record without a value (a deletion), in milliseconds, so that readers can see it."
    ),
    "log.cleaner.enable": "Whether logs with cleanup policy compact are compacted.",
    "log.cleaner.io.buffer.load.factor": "Maximum fill level of the memory for keys in a run of compaction, 0 to 1.",
    "log.cleaner.io.buffer.size": "Memory of all compaction threads for reading and writing, in bytes.",
    "log.cleaner.io.max.bytes.per.second": "Limit of reads and writes by compaction, in bytes per second.",
    "log.cleaner.max.compaction.lag.ms": (
        "Time after which a record's log is compacted, in milliseconds, however small the new part is."
    ),
    "log.cleaner.min.cleanable.ratio": (
        "Share of a log, 0 to 1, that must be new since the last compaction before the next one."
    ),
    "log.cleaner.min.compaction.lag.ms": "Minimum age of a record before compaction, in milliseconds.",
    "log.cleaner.threads": "Number of threads for compaction.",
    "log.cleanup.policy": (
        "Handling of old records: delete removes segments by age and size, compact keeps the last record of each "
        "key; both may be given."
    ),
    "log.dir": "The directory of logs, used only if log.dirs is not set.",
    "log.dirs": "The directories of logs, separated by commas.",
    "log.flush.interval.messages": "Number of records after which a partition's log is flushed to disk (fsync).",
    "log.flush.interval.ms": "Time after which new records are flushed to disk (fsync), in milliseconds.",
    "log.flush.offset.checkpoint.interval.ms": (
        "Interval of checkpoints of the flushed end of logs, in milliseconds; a start after a crash checks the "
        "records after it."
    ),
    "log.flush.scheduler.interval.ms": (
        "Interval of the search for logs to flush, in milliseconds; also used as log.flush.interval.ms if that is "
        "not set."
    ),
    "log.flush.start.offset.checkpoint.interval.ms": "Interval of checkpoints of the start of logs, in milliseconds.",
    "log.index.interval.bytes": (
        "Bytes of records between two index entries: fewer bytes make larger indexes and shorter searches."
    ),
    "log.index.size.max.bytes": "Maximum size of an index, in bytes; the segment is rolled first.",
    "log.message.downconversion.enable": (
        "Whether records are converted for consumers that support only older formats; if not, they get an error."
    ),
    "log.message.format.version": (
        "The Kafka version of the log's record format; records of newer producers are converted to it."
    ),
    "log.message.timestamp.difference.max.ms": (
        "Maximum difference of a record's timestamp from the broker's time, in milliseconds; other records are "
        "rejected. Used with CreateTime only."
    ),
    "log.message.timestamp.type": (
        "The source of records' timestamps: the producer (CreateTime), or the broker at the append (LogAppendTime)."
    ),
    "log.preallocate": "Whether the disk space of a whole segment is reserved when the segment is created.",
    "log.retention.bytes": "Size of a partition, in bytes, above which its oldest segments are deleted; -1: no limit.",
    "log.retention.check.interval.ms": (
        "Interval of the check for segments to delete, in milliseconds; the first check is 30 seconds after the start."
    ),
    "log.retention.hours": (
        "Retention time of records, in hours, used only if neither log.retention.minutes nor log.retention.ms is set."
    ),
    "log.retention.minutes": "Retention time of records, in minutes, used only if log.retention.ms is not set.",
    "log.retention.ms": (
        "Retention time of records, in milliseconds, after which their segment may be deleted; -1: no limit."
    ),
    "log.roll.hours": "Time after which a new segment begins, in hours, used only if log.roll.ms is not set.",
    "log.roll.jitter.hours": (
        "Maximum random reduction of log.roll.hours, in hours, used only if log.roll.jitter.ms is not set."
    ),
    "log.roll.jitter.ms": (
        "Maximum random reduction of log.roll.ms, in milliseconds, so that segments do not roll at the same time."
    ),
    "log.roll.ms": "Time after which a new segment begins, in milliseconds, even if the last one is not full.",
    "log.segment.bytes": "Maximum size of a segment of a log, in bytes, before a new one begins.",
    "log.segment.delete.delay.ms": (
        "How long the files of a deleted segment are kept, in milliseconds, for current readers."
    ),
    "max.connection.creation.rate": "Maximum number of new connections per second; others wait.",
    "max.connections": "Maximum number of connections.",
    "max.connections.per.ip": "Maximum number of connections from one address.",
    "max.connections.per.ip.overrides": "Exceptions from max.connections.per.ip for some addresses, as host:number,...",
    "max.incremental.fetch.session.cache.slots": "Maximum number of cached fetch sessions.",
    "message.max.bytes": "Maximum size of a batch of records, in bytes, as stored (compressed).",
    "metric.reporters": "Classes of metrics reporters.",
    "metrics.num.samples": "Number of samples for metrics.",
    "metrics.recording.level": "The recorded metrics: INFO for few, DEBUG for more, TRACE for all.",
    "metrics.sample.window.ms": "Length of a sample for metrics, in milliseconds.",
    "min.insync.replicas": "Number of replicas that must be in sync for writes with acks=all.",
    "num.io.threads": "Number of threads that handle requests.",
    "num.network.threads": "Number of threads that read and write connections, for each listener.",
    "num.partitions": "Number of partitions of automatically created topics, and of topics created without a number.",
    "num.recovery.threads.per.data.dir": "Number of threads that open logs at the start, for each log directory.",
    "num.replica.alter.log.dirs.threads": (
        "Number of replicas that move between directories at once; unset: the number of directories."
    ),
    "num.replica.fetchers": "Number of threads that copy from each other broker.",
    "offset.metadata.max.bytes": "Maximum size of the text with a committed offset, in bytes.",
    "offsets.commit.required.acks": (
        "Number of replicas that must have a committed offset before the response; -1: all in-sync replicas."
    ),
    "offsets.commit.timeout.ms": "Time limit for a commit of offsets, in milliseconds; then the response is an error.",
    "offsets.load.buffer.size": "Bytes of a partition of __consumer_offsets that are read at once while it is loaded.",
    "offsets.retention.check.interval.ms": "Interval of the check for expired committed offsets, in milliseconds.",
    "offsets.retention.minutes": "Retention time of the committed offsets of a group without members, in minutes.",
    "offsets.topic.compression.codec": (
        "The broker's compression of __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."
    ),
    "offsets.topic.num.partitions": (
        "Number of partitions of __consumer_offsets at its creation; it must not change afterwards."
    ),
    "offsets.topic.replication.factor": (
        "Number of replicas of __consumer_offsets; the topic is not created before there are as many brokers."
    ),
    "offsets.topic.segment.bytes": (
        "Maximum size of a segment of __consumer_offsets, in bytes; small ones are loaded and compacted sooner."
    ),
    "password.encoder.cipher.algorithm": "The cipher for passwords stored in the cluster's settings.",
    "password.encoder.iterations": "Number of rounds that turn password.encoder.secret into a key.",
    "password.encoder.key.length": "Length of the key that encrypts passwords, in bits.",
    "password.encoder.keyfactory.algorithm": (
        "The algorithm that turns password.encoder.secret into a key; unset: PBKDF2 with the best available hash."
    ),
    "password.encoder.old.secret": (
        "The previous secret of stored passwords; give it at the start at which password.encoder.secret changes."
    ),
    "password.encoder.secret": "The secret that encrypts passwords stored in the cluster's settings.",
    "port": "Old form of listeners: the port to listen on, used only if listeners is not set.",
    "principal.builder.class": "A class that determines the principal of a connection.",
    "producer.purgatory.purge.interval.requests": (
        "Number of finished produce requests after which the purgatory is purged."
    ),
    "queued.max.request.bytes": "Memory limit of received requests, in bytes, above which no more is read.",
    "queued.max.requests": "Number of received requests waiting for a thread above which no more is read.",
    "quota.consumer.default": "Old form of a default quota: limit of a client's fetches, in bytes per second.",
    "quota.producer.default": "Old form of a default quota: limit of a client's produce requests, in bytes per second.",
    "quota.window.num": "Number of windows for measuring clients against quotas.",
    "quota.window.size.seconds": "Length of each window for measuring clients against quotas.",
    "replica.alter.log.dirs.io.max.bytes.per.second": (
        "Limit, in bytes per second, of this broker's moves of replicas between its directories."
    ),
    "replica.fetch.backoff.ms": "Pause of a follower after an error of its leader, in milliseconds.",
    "replica.fetch.max.bytes": "Bytes of one partition that a follower requests at once.",
    "replica.fetch.min.bytes": "Minimum number of bytes that a follower's fetch waits for.",
    "replica.fetch.response.max.bytes": "Bytes that a follower requests at once, for all partitions together.",
    "replica.fetch.wait.max.ms": "Maximum wait of a follower's fetch for records, in milliseconds.",
    "replica.high.watermark.checkpoint.interval.ms": "Interval of checkpoints of high watermarks, in milliseconds.",
    "replica.lag.time.max.ms": (
        "Time that a follower may lag behind, in milliseconds, before it is not in sync any more."
    ),
    "replica.selector.class": (
        "With org.apache.kafka.common.replica.RackAwareReplicaSelector, consumers that report their rack read from "
        "a replica in it; unset: from the leader."
    ),
    "replica.socket.receive.buffer.bytes": "Receive buffer of a connection to another broker, in bytes.",
    "replica.socket.timeout.ms": "Time limit for a leader's answer to a follower, in milliseconds.",
    "replication.quota.window.num": "Number of windows for measuring throttled replication.",
    "replication.quota.window.size.seconds": "Length of each window for measuring throttled replication.",
    "request.timeout.ms": (
        "Time limit for a request to another broker, or for a write of a transaction's state, in milliseconds."
    ),
    "reserved.broker.max.id": "The highest broker id that you may assign; generated ids are above it.",
    "sasl.client.callback.handler.class": "A class that answers a SASL client's callbacks.",
    "sasl.enabled.mechanisms": "The SASL mechanisms for clients.",
    "sasl.jaas.config": (
        "The SASL login, as a line of a JAAS file; for a listener, with the prefix listener.name.NAME.MECHANISM."
    ),
    "sasl.kerberos.kinit.cmd": "The path of Kerberos's kinit.",
    "sasl.kerberos.min.time.before.relogin": "Minimum time between two Kerberos logins, in milliseconds.",
    "sasl.kerberos.principal.to.local.rules": (
        "Rules that map a Kerberos principal to a short name; the first match applies."
    ),
    "sasl.kerberos.service.name": "The service name of brokers in Kerberos.",
    "sasl.kerberos.ticket.renew.jitter": "Random share of the renewal time of a Kerberos ticket.",
    "sasl.kerberos.ticket.renew.window.factor": "Share of a Kerberos ticket's lifetime after which it is renewed.",
    "sasl.login.callback.handler.class": "A class that answers a SASL login's callbacks.",
    "sasl.login.class": "A class for SASL logins.",
    "sasl.login.refresh.buffer.seconds": (
        "Minimum time before a credential's expiry at which it is renewed, in seconds (OAUTHBEARER)."
    ),
    "sasl.login.refresh.min.period.seconds": (
        "Minimum use of a credential before its renewal, in seconds (OAUTHBEARER)."
    ),
    "sasl.login.refresh.window.factor": "Share of a credential's lifetime after which it is renewed (OAUTHBEARER).",
    "sasl.login.refresh.window.jitter": (
        "Random share of a credential's lifetime that is added before its renewal (OAUTHBEARER)."
    ),
    "sasl.mechanism.inter.broker.protocol": "The SASL mechanism that brokers use among themselves.",
    "sasl.oauthbearer.clock.skew.seconds": "Tolerated difference of the token issuer's clock, in seconds.",
    "sasl.oauthbearer.expected.audience": "The accepted audiences of tokens; empty: any.",
    "sasl.oauthbearer.expected.issuer": (
        "The required issuer of a token (its claim iss); empty: any issuer with a known key."
    ),
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": (
        "Interval at which public keys for tokens are read again, in milliseconds."
    ),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": (
        "Maximum pause before another attempt to read public keys, in milliseconds."
    ),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": (
        "First pause before another attempt to read public keys, in milliseconds; it doubles each time."
    ),
    "sasl.oauthbearer.jwks.endpoint.url": (
        "Location of the public keys (JWKS) for tokens: a URL with https, http or file."
    ),
    "sasl.oauthbearer.sub.claim.name": "The claim of a token with the user's name.",
    "sasl.server.callback.handler.class": "A class that answers a SASL server's callbacks.",
    "sasl.server.max.receive.size": (
        "Maximum size of requests before a SASL login, and of a repeated login, in bytes: raise it for larger tokens."
    ),
    "security.inter.broker.protocol": (
        "The security protocol between brokers, used if inter.broker.listener.name is not set."
    ),
    "security.providers": "Classes that add Java's security providers.",
    "socket.connection.setup.timeout.max.ms": (
        "Time limit for a connection attempt after many failures, in milliseconds."
    ),
    "socket.connection.setup.timeout.ms": (
        "Time limit for a connection attempt, in milliseconds; it doubles after each failure."
    ),
    "socket.receive.buffer.bytes": (
        "Receive buffer of a client's connection in the kernel, in bytes; -1: the system's default."
    ),
    "socket.request.max.bytes": "Maximum size of a request, in bytes; a larger one closes its connection.",
    "socket.send.buffer.bytes": (
        "Send buffer of a client's connection in the kernel, in bytes; -1: the system's default."
    ),
    "ssl.cipher.suites": "The allowed TLS cipher suites; empty: the platform's default.",
    "ssl.client.auth": "Whether clients need a certificate: required, requested (optional) or none.",
    "ssl.enabled.protocols": "The allowed TLS versions.",
    "ssl.endpoint.identification.algorithm": (
        "The check of the host name in a server's certificate: https, or empty for none."
    ),
    "ssl.engine.factory.class": "A class that creates TLS engines.",
    "ssl.key.password": "The password of the private key.",
    "ssl.keymanager.algorithm": "The algorithm of Java's key manager.",
    "ssl.keystore.certificate.chain": "The broker's certificate and its chain, in PEM.",
    "ssl.keystore.key": "The private key of the broker's certificate, in PEM.",
    "ssl.keystore.location": "The file with the broker's private key and certificate.",
    "ssl.keystore.password": "The password of the file with the private key.",
    "ssl.keystore.type": "The format of the file with the private key.",
    "ssl.principal.mapping.rules": (
        "Rules that map the name in a client's certificate to a user; the first match applies."
    ),
    "ssl.protocol": "The TLS version used if nothing else is negotiated.",
    "ssl.provider": "The Java security provider of TLS.",
    "ssl.secure.random.implementation": "The source of TLS's random numbers.",
    "ssl.trustmanager.algorithm": "The algorithm of Java's trust manager.",
    "ssl.truststore.certificates": "The trusted certificates, in PEM.",
    "ssl.truststore.location": "The file with the trusted certificates.",
    "ssl.truststore.password": "The password of the file with the trusted certificates.",
    "ssl.truststore.type": "The format of the file with the trusted certificates.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (
        "Interval of the search for transactions to abort after their timeout, in milliseconds."
    ),
    "transaction.max.timeout.ms": "Maximum transaction timeout of producers, in milliseconds.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": (
        "Interval of the search for expired transactional ids, in milliseconds."
    ),
    "transaction.state.log.load.buffer.size": (
        "Bytes of a partition of __transaction_state that are read at once while it is loaded."
    ),
    "transaction.state.log.min.isr": "min.insync.replicas of __transaction_state.",
    "transaction.state.log.num.partitions": (
        "Number of partitions of __transaction_state at its creation; it must not change afterwards."
    ),
    "transaction.state.log.replication.factor": (
        "Number of replicas of __transaction_state; the topic is not created before there are as many brokers."
    ),
    "transaction.state.log.segment.bytes": (
        "Maximum size of a segment of __transaction_state, in bytes; small ones are loaded and compacted sooner."
    ),
    "transactional.id.expiration.ms": "Time without use after which a transactional id expires, in milliseconds.",
    "unclean.leader.election.enable": (
        "Whether a replica that is not in sync may become leader if there is no other one, which loses records."
    ),
    "zookeeper.clientCnxnSocket": "A class for the connection to ZooKeeper.",
    "zookeeper.connect": "The addresses of ZooKeeper, as host:port,..., followed by the path of the cluster's tree.",
    "zookeeper.connection.timeout.ms": (
        "Time limit for connecting to ZooKeeper, in milliseconds; unset: zookeeper.session.timeout.ms."
    ),
    "zookeeper.max.in.flight.requests": "Maximum number of requests to ZooKeeper that wait for answers.",
    "zookeeper.session.timeout.ms": (
        "Time without contact after which ZooKeeper considers a broker dead, in milliseconds."
    ),
    "zookeeper.set.acl": "Whether only brokers may change nodes that brokers write to ZooKeeper.",
    "zookeeper.ssl.cipher.suites": "The allowed TLS cipher suites to ZooKeeper.",
    "zookeeper.ssl.client.enable": "Whether connections to ZooKeeper use TLS.",
    "zookeeper.ssl.crl.enable": "Whether ZooKeeper's certificate is checked against revocation lists.",
    "zookeeper.ssl.enabled.protocols": "The allowed TLS versions to ZooKeeper.",
    "zookeeper.ssl.endpoint.identification.algorithm": (
        "The check of the host name in ZooKeeper's certificate: HTTPS, or empty for none."
    ),
    "zookeeper.ssl.keystore.location": "The file with the private key and certificate for ZooKeeper.",
    "zookeeper.ssl.keystore.password": "The password of the file with the private key for ZooKeeper.",
    "zookeeper.ssl.keystore.type": "The format of the file with the private key for ZooKeeper.",
    "zookeeper.ssl.ocsp.enable": "Whether ZooKeeper's certificate is checked by OCSP.",
    "zookeeper.ssl.protocol": "The TLS version to ZooKeeper used if nothing else is negotiated.",
    "zookeeper.ssl.truststore.location": "The file with the certificates trusted for ZooKeeper.",
    "zookeeper.ssl.truststore.password": "The password of the file with the certificates trusted for ZooKeeper.",
    "zookeeper.ssl.truststore.type": "The format of the file with the certificates trusted for ZooKeeper.",
    "zookeeper.sync.time.ms": "Maximum lag of a ZooKeeper follower behind its leader, in milliseconds.",
}
