"""Generated from schemas/configs.json and schemas/barnabas-configs.json by scripts/generate: all settings.

A row is (name, type, default, least value, greatest value, choices, importance, update mode or server default).

Source: schemas/configs.json.
"""

from typing import TYPE_CHECKING

Row = tuple[str, str, str | int | float | bool | None, float | None, float | None, tuple[str, ...] | None, str, str]

BROKER: tuple[Row, ...] = (
    ("advertised.host.name", "string", None, None, None, None, "high", "read-only"),
    ("advertised.listeners", "string", None, None, None, None, "high", "per-broker"),
    ("advertised.port", "int", None, None, None, None, "high", "read-only"),
    ("alter.config.policy.class.name", "class", None, None, None, None, "low", "read-only"),
    ("alter.log.dirs.replication.quota.window.num", "int", 11, 1, None, None, "low", "read-only"),
    ("alter.log.dirs.replication.quota.window.size.seconds", "int", 1, 1, None, None, "low", "read-only"),
    ("authorizer.class.name", "string", "", None, None, None, "low", "read-only"),
    ("auto.create.topics.enable", "boolean", True, None, None, None, "high", "read-only"),
    ("auto.leader.rebalance.enable", "boolean", True, None, None, None, "high", "read-only"),
    ("background.threads", "int", 10, 1, None, None, "high", "cluster-wide"),
    ("broker.id", "int", -1, None, None, None, "high", "read-only"),
    ("broker.id.generation.enable", "boolean", True, None, None, None, "medium", "read-only"),
    ("broker.rack", "string", None, None, None, None, "medium", "read-only"),
    ("client.quota.callback.class", "class", None, None, None, None, "low", "read-only"),
    ("compression.type", "string", "producer", None, None, None, "high", "cluster-wide"),
    ("connection.failed.authentication.delay.ms", "int", 100, 0, None, None, "low", "read-only"),
    ("connections.max.idle.ms", "long", 600000, None, None, None, "medium", "read-only"),
    ("connections.max.reauth.ms", "long", 0, None, None, None, "medium", "read-only"),
    ("control.plane.listener.name", "string", None, None, None, None, "high", "read-only"),
    ("controlled.shutdown.enable", "boolean", True, None, None, None, "medium", "read-only"),
    ("controlled.shutdown.max.retries", "int", 3, None, None, None, "medium", "read-only"),
    ("controlled.shutdown.retry.backoff.ms", "long", 5000, None, None, None, "medium", "read-only"),
    ("controller.quota.window.num", "int", 11, 1, None, None, "low", "read-only"),
    ("controller.quota.window.size.seconds", "int", 1, 1, None, None, "low", "read-only"),
    ("controller.socket.timeout.ms", "int", 30000, None, None, None, "medium", "read-only"),
    ("create.topic.policy.class.name", "class", None, None, None, None, "low", "read-only"),
    ("default.replication.factor", "int", 1, None, None, None, "medium", "read-only"),
    ("delegation.token.expiry.check.interval.ms", "long", 3600000, 1, None, None, "low", "read-only"),
    ("delegation.token.expiry.time.ms", "long", 86400000, 1, None, None, "medium", "read-only"),
    ("delegation.token.master.key", "password", None, None, None, None, "medium", "read-only"),
    ("delegation.token.max.lifetime.ms", "long", 604800000, 1, None, None, "medium", "read-only"),
    ("delete.records.purgatory.purge.interval.requests", "int", 1, None, None, None, "medium", "read-only"),
    ("delete.topic.enable", "boolean", True, None, None, None, "high", "read-only"),
    ("fetch.max.bytes", "int", 57671680, 1024, None, None, "medium", "read-only"),
    ("fetch.purgatory.purge.interval.requests", "int", 1000, None, None, None, "medium", "read-only"),
    ("group.initial.rebalance.delay.ms", "int", 3000, None, None, None, "medium", "read-only"),
    ("group.max.session.timeout.ms", "int", 1800000, None, None, None, "medium", "read-only"),
    ("group.max.size", "int", 2147483647, 1, None, None, "medium", "read-only"),
    ("group.min.session.timeout.ms", "int", 6000, None, None, None, "medium", "read-only"),
    ("host.name", "string", "", None, None, None, "high", "read-only"),
    ("inter.broker.listener.name", "string", None, None, None, None, "medium", "read-only"),
    (
        "inter.broker.protocol.version",
        "string",
        "2.7-IV2",
        None,
        None,
        (
            "0.8.0",
            "0.8.1",
            "0.8.2",
            "0.9.0",
            "0.10.0-IV0",
            "0.10.0-IV1",
            "0.10.1-IV0",
            "0.10.1-IV1",
            "0.10.1-IV2",
            "0.10.2-IV0",
            "0.11.0-IV0",
            "0.11.0-IV1",
            "0.11.0-IV2",
            "1.0-IV0",
            "1.1-IV0",
            "2.0-IV0",
            "2.0-IV1",
            "2.1-IV0",
            "2.1-IV1",
            "2.1-IV2",
            "2.2-IV0",
            "2.2-IV1",
            "2.3-IV0",
            "2.3-IV1",
            "2.4-IV0",
            "2.4-IV1",
            "2.5-IV0",
            "2.6-IV0",
            "2.7-IV0",
            "2.7-IV1",
            "2.7-IV2",
        ),
        "medium",
        "read-only",
    ),
    ("kafka.metrics.polling.interval.secs", "int", 10, 1, None, None, "low", "read-only"),
    ("kafka.metrics.reporters", "list", "", None, None, None, "low", "read-only"),
    ("leader.imbalance.check.interval.seconds", "long", 300, None, None, None, "high", "read-only"),
    ("leader.imbalance.per.broker.percentage", "int", 10, None, None, None, "high", "read-only"),
    (
        "listener.security.protocol.map",
        "string",
        "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        None,
        None,
        None,
        "low",
        "per-broker",
    ),
    ("listeners", "string", None, None, None, None, "high", "per-broker"),
    ("log.cleaner.backoff.ms", "long", 15000, 0, None, None, "medium", "cluster-wide"),
    ("log.cleaner.dedupe.buffer.size", "long", 134217728, None, None, None, "medium", "cluster-wide"),
    ("log.cleaner.delete.retention.ms", "long", 86400000, None, None, None, "medium", "cluster-wide"),
    ("log.cleaner.enable", "boolean", True, None, None, None, "medium", "read-only"),
    ("log.cleaner.io.buffer.load.factor", "double", 0.9, None, None, None, "medium", "cluster-wide"),
    ("log.cleaner.io.buffer.size", "int", 524288, 0, None, None, "medium", "cluster-wide"),
    (
        "log.cleaner.io.max.bytes.per.second",
        "double",
        1.7976931348623157e308,
        None,
        None,
        None,
        "medium",
        "cluster-wide",
    ),
    ("log.cleaner.max.compaction.lag.ms", "long", 9223372036854775807, None, None, None, "medium", "cluster-wide"),
    ("log.cleaner.min.cleanable.ratio", "double", 0.5, None, None, None, "medium", "cluster-wide"),
    ("log.cleaner.min.compaction.lag.ms", "long", 0, None, None, None, "medium", "cluster-wide"),
    ("log.cleaner.threads", "int", 1, 0, None, None, "medium", "cluster-wide"),
    ("log.cleanup.policy", "list", "delete", None, None, ("compact", "delete"), "medium", "cluster-wide"),
    ("log.dir", "string", "/tmp/kafka-logs", None, None, None, "high", "read-only"),
    ("log.dirs", "string", None, None, None, None, "high", "read-only"),
    ("log.flush.interval.messages", "long", 9223372036854775807, 1, None, None, "high", "cluster-wide"),
    ("log.flush.interval.ms", "long", None, None, None, None, "high", "cluster-wide"),
    ("log.flush.offset.checkpoint.interval.ms", "int", 60000, 0, None, None, "high", "read-only"),
    ("log.flush.scheduler.interval.ms", "long", 9223372036854775807, None, None, None, "high", "read-only"),
    ("log.flush.start.offset.checkpoint.interval.ms", "int", 60000, 0, None, None, "high", "read-only"),
    ("log.index.interval.bytes", "int", 4096, 0, None, None, "medium", "cluster-wide"),
    ("log.index.size.max.bytes", "int", 10485760, 4, None, None, "medium", "cluster-wide"),
    ("log.message.downconversion.enable", "boolean", True, None, None, None, "low", "cluster-wide"),
    (
        "log.message.format.version",
        "string",
        "2.7-IV2",
        None,
        None,
        (
            "0.8.0",
            "0.8.1",
            "0.8.2",
            "0.9.0",
            "0.10.0-IV0",
            "0.10.0-IV1",
            "0.10.1-IV0",
            "0.10.1-IV1",
            "0.10.1-IV2",
            "0.10.2-IV0",
            "0.11.0-IV0",
            "0.11.0-IV1",
            "0.11.0-IV2",
            "1.0-IV0",
            "1.1-IV0",
            "2.0-IV0",
            "2.0-IV1",
            "2.1-IV0",
            "2.1-IV1",
            "2.1-IV2",
            "2.2-IV0",
            "2.2-IV1",
            "2.3-IV0",
            "2.3-IV1",
            "2.4-IV0",
            "2.4-IV1",
            "2.5-IV0",
            "2.6-IV0",
            "2.7-IV0",
            "2.7-IV1",
            "2.7-IV2",
        ),
        "medium",
        "read-only",
    ),
    (
        "log.message.timestamp.difference.max.ms",
        "long",
        9223372036854775807,
        None,
        None,
        None,
        "medium",
        "cluster-wide",
    ),
    (
        "log.message.timestamp.type",
        "string",
        "CreateTime",
        None,
        None,
        ("CreateTime", "LogAppendTime"),
        "medium",
        "cluster-wide",
    ),
    ("log.preallocate", "boolean", False, None, None, None, "medium", "cluster-wide"),
    ("log.retention.bytes", "long", -1, None, None, None, "high", "cluster-wide"),
    ("log.retention.check.interval.ms", "long", 300000, 1, None, None, "medium", "read-only"),
    ("log.retention.hours", "int", 168, None, None, None, "high", "read-only"),
    ("log.retention.minutes", "int", None, None, None, None, "high", "read-only"),
    ("log.retention.ms", "long", None, None, None, None, "high", "cluster-wide"),
    ("log.roll.hours", "int", 168, 1, None, None, "high", "read-only"),
    ("log.roll.jitter.hours", "int", 0, 0, None, None, "high", "read-only"),
    ("log.roll.jitter.ms", "long", None, None, None, None, "high", "cluster-wide"),
    ("log.roll.ms", "long", None, None, None, None, "high", "cluster-wide"),
    ("log.segment.bytes", "int", 1073741824, 14, None, None, "high", "cluster-wide"),
    ("log.segment.delete.delay.ms", "long", 60000, 0, None, None, "high", "cluster-wide"),
    ("max.connection.creation.rate", "int", 2147483647, 0, None, None, "medium", "cluster-wide"),
    ("max.connections", "int", 2147483647, 0, None, None, "medium", "cluster-wide"),
    ("max.connections.per.ip", "int", 2147483647, 0, None, None, "medium", "cluster-wide"),
    ("max.connections.per.ip.overrides", "string", "", None, None, None, "medium", "cluster-wide"),
    ("max.incremental.fetch.session.cache.slots", "int", 1000, 0, None, None, "medium", "read-only"),
    ("message.max.bytes", "int", 1048588, 0, None, None, "high", "cluster-wide"),
    ("metric.reporters", "list", "", None, None, None, "low", "cluster-wide"),
    ("metrics.num.samples", "int", 2, 1, None, None, "low", "read-only"),
    ("metrics.recording.level", "string", "INFO", None, None, None, "low", "read-only"),
    ("metrics.sample.window.ms", "long", 30000, 1, None, None, "low", "read-only"),
    ("min.insync.replicas", "int", 1, 1, None, None, "high", "cluster-wide"),
    ("num.io.threads", "int", 8, 1, None, None, "high", "cluster-wide"),
    ("num.network.threads", "int", 3, 1, None, None, "high", "cluster-wide"),
    ("num.partitions", "int", 1, 1, None, None, "medium", "read-only"),
    ("num.recovery.threads.per.data.dir", "int", 1, 1, None, None, "high", "cluster-wide"),
    ("num.replica.alter.log.dirs.threads", "int", None, None, None, None, "high", "read-only"),
    ("num.replica.fetchers", "int", 1, None, None, None, "high", "cluster-wide"),
    ("offset.metadata.max.bytes", "int", 4096, None, None, None, "high", "read-only"),
    ("offsets.commit.required.acks", "short", -1, None, None, None, "high", "read-only"),
    ("offsets.commit.timeout.ms", "int", 5000, 1, None, None, "high", "read-only"),
    ("offsets.load.buffer.size", "int", 5242880, 1, None, None, "high", "read-only"),
    ("offsets.retention.check.interval.ms", "long", 600000, 1, None, None, "high", "read-only"),
    ("offsets.retention.minutes", "int", 10080, 1, None, None, "high", "read-only"),
    ("offsets.topic.compression.codec", "int", 0, None, None, None, "high", "read-only"),
    ("offsets.topic.num.partitions", "int", 50, 1, None, None, "high", "read-only"),
    ("offsets.topic.replication.factor", "short", 3, 1, None, None, "high", "read-only"),
    ("offsets.topic.segment.bytes", "int", 104857600, 1, None, None, "high", "read-only"),
    ("password.encoder.cipher.algorithm", "string", "AES/CBC/PKCS5Padding", None, None, None, "low", "read-only"),
    ("password.encoder.iterations", "int", 4096, 1024, None, None, "low", "read-only"),
    ("password.encoder.key.length", "int", 128, 8, None, None, "low", "read-only"),
    ("password.encoder.keyfactory.algorithm", "string", None, None, None, None, "low", "read-only"),
    ("password.encoder.old.secret", "password", None, None, None, None, "medium", "read-only"),
    ("password.encoder.secret", "password", None, None, None, None, "medium", "read-only"),
    ("port", "int", 9092, None, None, None, "high", "read-only"),
    ("principal.builder.class", "class", None, None, None, None, "medium", "per-broker"),
    ("producer.purgatory.purge.interval.requests", "int", 1000, None, None, None, "medium", "read-only"),
    ("queued.max.request.bytes", "long", -1, None, None, None, "medium", "read-only"),
    ("queued.max.requests", "int", 500, 1, None, None, "high", "read-only"),
    ("quota.consumer.default", "long", 9223372036854775807, 1, None, None, "high", "read-only"),
    ("quota.producer.default", "long", 9223372036854775807, 1, None, None, "high", "read-only"),
    ("quota.window.num", "int", 11, 1, None, None, "low", "read-only"),
    ("quota.window.size.seconds", "int", 1, 1, None, None, "low", "read-only"),
    ("replica.fetch.backoff.ms", "int", 1000, 0, None, None, "medium", "read-only"),
    ("replica.fetch.max.bytes", "int", 1048576, 0, None, None, "medium", "read-only"),
    ("replica.fetch.min.bytes", "int", 1, None, None, None, "high", "read-only"),
    ("replica.fetch.response.max.bytes", "int", 10485760, 0, None, None, "medium", "read-only"),
    ("replica.fetch.wait.max.ms", "int", 500, None, None, None, "high", "read-only"),
    ("replica.high.watermark.checkpoint.interval.ms", "long", 5000, None, None, None, "high", "read-only"),
    ("replica.lag.time.max.ms", "long", 30000, None, None, None, "high", "read-only"),
    ("replica.selector.class", "string", None, None, None, None, "medium", "read-only"),
    ("replica.socket.receive.buffer.bytes", "int", 65536, None, None, None, "high", "read-only"),
    ("replica.socket.timeout.ms", "int", 30000, None, None, None, "high", "read-only"),
    ("replication.quota.window.num", "int", 11, 1, None, None, "low", "read-only"),
    ("replication.quota.window.size.seconds", "int", 1, 1, None, None, "low", "read-only"),
    ("request.timeout.ms", "int", 30000, None, None, None, "high", "read-only"),
    ("reserved.broker.max.id", "int", 1000, 0, None, None, "medium", "read-only"),
    ("sasl.client.callback.handler.class", "class", None, None, None, None, "medium", "read-only"),
    ("sasl.enabled.mechanisms", "list", "GSSAPI", None, None, None, "medium", "per-broker"),
    ("sasl.jaas.config", "password", None, None, None, None, "medium", "per-broker"),
    ("sasl.kerberos.kinit.cmd", "string", "/usr/bin/kinit", None, None, None, "medium", "per-broker"),
    ("sasl.kerberos.min.time.before.relogin", "long", 60000, None, None, None, "medium", "per-broker"),
    ("sasl.kerberos.principal.to.local.rules", "list", "DEFAULT", None, None, None, "medium", "per-broker"),
    ("sasl.kerberos.service.name", "string", None, None, None, None, "medium", "per-broker"),
    ("sasl.kerberos.ticket.renew.jitter", "double", 0.05, None, None, None, "medium", "per-broker"),
    ("sasl.kerberos.ticket.renew.window.factor", "double", 0.8, None, None, None, "medium", "per-broker"),
    ("sasl.login.callback.handler.class", "class", None, None, None, None, "medium", "read-only"),
    ("sasl.login.class", "class", None, None, None, None, "medium", "read-only"),
    ("sasl.login.refresh.buffer.seconds", "short", 300, None, None, None, "medium", "per-broker"),
    ("sasl.login.refresh.min.period.seconds", "short", 60, None, None, None, "medium", "per-broker"),
    ("sasl.login.refresh.window.factor", "double", 0.8, None, None, None, "medium", "per-broker"),
    ("sasl.login.refresh.window.jitter", "double", 0.05, None, None, None, "medium", "per-broker"),
    ("sasl.mechanism.inter.broker.protocol", "string", "GSSAPI", None, None, None, "medium", "per-broker"),
    ("sasl.server.callback.handler.class", "class", None, None, None, None, "medium", "read-only"),
    ("security.inter.broker.protocol", "string", "PLAINTEXT", None, None, None, "medium", "read-only"),
    ("security.providers", "string", None, None, None, None, "low", "read-only"),
    ("socket.connection.setup.timeout.max.ms", "long", 127000, None, None, None, "medium", "read-only"),
    ("socket.connection.setup.timeout.ms", "long", 10000, None, None, None, "medium", "read-only"),
    ("socket.receive.buffer.bytes", "int", 102400, None, None, None, "high", "read-only"),
    ("socket.request.max.bytes", "int", 104857600, 1, None, None, "high", "read-only"),
    ("socket.send.buffer.bytes", "int", 102400, None, None, None, "high", "read-only"),
    ("ssl.cipher.suites", "list", "", None, None, None, "medium", "per-broker"),
    ("ssl.client.auth", "string", "none", None, None, ("required", "requested", "none"), "medium", "per-broker"),
    ("ssl.enabled.protocols", "list", "TLSv1.2,TLSv1.3", None, None, None, "medium", "per-broker"),
    ("ssl.endpoint.identification.algorithm", "string", "https", None, None, None, "low", "per-broker"),
    ("ssl.engine.factory.class", "class", None, None, None, None, "low", "per-broker"),
    ("ssl.key.password", "password", None, None, None, None, "medium", "per-broker"),
    ("ssl.keymanager.algorithm", "string", "SunX509", None, None, None, "medium", "per-broker"),
    ("ssl.keystore.certificate.chain", "password", None, None, None, None, "medium", "per-broker"),
    ("ssl.keystore.key", "password", None, None, None, None, "medium", "per-broker"),
    ("ssl.keystore.location", "string", None, None, None, None, "medium", "per-broker"),
    ("ssl.keystore.password", "password", None, None, None, None, "medium", "per-broker"),
    ("ssl.keystore.type", "string", "JKS", None, None, None, "medium", "per-broker"),
    ("ssl.principal.mapping.rules", "string", "DEFAULT", None, None, None, "low", "read-only"),
    ("ssl.protocol", "string", "TLSv1.3", None, None, None, "medium", "per-broker"),
    ("ssl.provider", "string", None, None, None, None, "medium", "per-broker"),
    ("ssl.secure.random.implementation", "string", None, None, None, None, "low", "per-broker"),
    ("ssl.trustmanager.algorithm", "string", "PKIX", None, None, None, "medium", "per-broker"),
    ("ssl.truststore.certificates", "password", None, None, None, None, "medium", "per-broker"),
    ("ssl.truststore.location", "string", None, None, None, None, "medium", "per-broker"),
    ("ssl.truststore.password", "password", None, None, None, None, "medium", "per-broker"),
    ("ssl.truststore.type", "string", "JKS", None, None, None, "medium", "per-broker"),
    ("transaction.abort.timed.out.transaction.cleanup.interval.ms", "int", 10000, 1, None, None, "low", "read-only"),
    ("transaction.max.timeout.ms", "int", 900000, 1, None, None, "high", "read-only"),
    ("transaction.remove.expired.transaction.cleanup.interval.ms", "int", 3600000, 1, None, None, "low", "read-only"),
    ("transaction.state.log.load.buffer.size", "int", 5242880, 1, None, None, "high", "read-only"),
    ("transaction.state.log.min.isr", "int", 2, 1, None, None, "high", "read-only"),
    ("transaction.state.log.num.partitions", "int", 50, 1, None, None, "high", "read-only"),
    ("transaction.state.log.replication.factor", "short", 3, 1, None, None, "high", "read-only"),
    ("transaction.state.log.segment.bytes", "int", 104857600, 1, None, None, "high", "read-only"),
    ("transactional.id.expiration.ms", "int", 604800000, 1, None, None, "high", "read-only"),
    ("unclean.leader.election.enable", "boolean", False, None, None, None, "high", "cluster-wide"),
    ("zookeeper.clientCnxnSocket", "string", None, None, None, None, "medium", "read-only"),
    ("zookeeper.connect", "string", None, None, None, None, "high", "read-only"),
    ("zookeeper.connection.timeout.ms", "int", None, None, None, None, "high", "read-only"),
    ("zookeeper.max.in.flight.requests", "int", 10, 1, None, None, "high", "read-only"),
    ("zookeeper.session.timeout.ms", "int", 18000, None, None, None, "high", "read-only"),
    ("zookeeper.set.acl", "boolean", False, None, None, None, "high", "read-only"),
    ("zookeeper.ssl.cipher.suites", "list", None, None, None, None, "low", "read-only"),
    ("zookeeper.ssl.client.enable", "boolean", False, None, None, None, "medium", "read-only"),
    ("zookeeper.ssl.crl.enable", "boolean", False, None, None, None, "low", "read-only"),
    ("zookeeper.ssl.enabled.protocols", "list", None, None, None, None, "low", "read-only"),
    ("zookeeper.ssl.endpoint.identification.algorithm", "string", "HTTPS", None, None, None, "low", "read-only"),
    ("zookeeper.ssl.keystore.location", "string", None, None, None, None, "medium", "read-only"),
    ("zookeeper.ssl.keystore.password", "password", None, None, None, None, "medium", "read-only"),
    ("zookeeper.ssl.keystore.type", "string", None, None, None, None, "medium", "read-only"),
    ("zookeeper.ssl.ocsp.enable", "boolean", False, None, None, None, "low", "read-only"),
    ("zookeeper.ssl.protocol", "string", "TLSv1.2", None, None, None, "low", "read-only"),
    ("zookeeper.ssl.truststore.location", "string", None, None, None, None, "medium", "read-only"),
    ("zookeeper.ssl.truststore.password", "password", None, None, None, None, "medium", "read-only"),
    ("zookeeper.ssl.truststore.type", "string", None, None, None, None, "medium", "read-only"),
    ("zookeeper.sync.time.ms", "int", 2000, None, None, None, "low", "read-only"),
    ("barnabas.facts.max.bytes", "int", 25165824, 0, None, None, "low", "read-only"),
    ("barnabas.http.listeners", "list", "", None, None, None, "medium", "read-only"),
    ("barnabas.jaas.config.file", "string", None, None, None, None, "medium", "read-only"),
    ("barnabas.login.timeout.ms", "int", 10000, 1, None, None, "medium", "read-only"),
    ("barnabas.metrics.max.entities", "int", 1000, 0, None, None, "low", "read-only"),
    ("barnabas.record.validation", "string", "headers", None, None, ("headers", "full"), "low", "read-only"),
    ("barnabas.request.max.array.elements", "int", 100000, 1, None, None, "low", "read-only"),
    ("sasl.oauthbearer.clock.skew.seconds", "int", 30, 0, None, None, "low", "read-only"),
    ("sasl.oauthbearer.expected.audience", "list", None, None, None, None, "low", "read-only"),
    ("sasl.oauthbearer.expected.issuer", "string", None, None, None, None, "low", "read-only"),
    ("sasl.oauthbearer.jwks.endpoint.refresh.ms", "long", 3600000, 1000, None, None, "low", "read-only"),
    ("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", "long", 10000, 1, None, None, "low", "read-only"),
    ("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", "long", 100, 1, None, None, "low", "read-only"),
    ("sasl.oauthbearer.jwks.endpoint.url", "string", None, None, None, None, "medium", "read-only"),
    ("sasl.oauthbearer.sub.claim.name", "string", "sub", None, None, None, "low", "read-only"),
    ("sasl.server.max.receive.size", "int", 65536, 1024, None, None, "medium", "read-only"),
    ("barnabas.ssl.crl.location", "string", None, None, None, None, "medium", "per-broker"),
    ("barnabas.ssl.handshake.timeout.ms", "int", 10000, 1, None, None, "low", "read-only"),
    ("barnabas.registry.listeners", "list", "", None, None, None, "medium", "read-only"),
    ("barnabas.registry.min.session.timeout.ms", "int", 6000, 1, 60000, None, "low", "read-only"),
    ("barnabas.registry.ssl.listeners", "list", "", None, None, None, "medium", "read-only"),
    ("barnabas.registry.super.users", "password", None, None, None, None, "medium", "read-only"),
    ("barnabas.zookeeper.digest", "password", None, None, None, None, "low", "read-only"),
)

BROKER_DYNAMIC_ONLY: tuple[Row, ...] = (
    ("follower.replication.throttled.rate", "long", 9223372036854775807, 0, None, None, "medium", ""),
    ("leader.replication.throttled.rate", "long", 9223372036854775807, 0, None, None, "medium", ""),
    ("replica.alter.log.dirs.io.max.bytes.per.second", "long", 9223372036854775807, 0, None, None, "medium", ""),
)

TOPIC: tuple[Row, ...] = (
    ("cleanup.policy", "list", "delete", None, None, ("compact", "delete"), "medium", "log.cleanup.policy"),
    (
        "compression.type",
        "string",
        "producer",
        None,
        None,
        ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        "medium",
        "compression.type",
    ),
    ("delete.retention.ms", "long", 86400000, 0, None, None, "medium", "log.cleaner.delete.retention.ms"),
    ("file.delete.delay.ms", "long", 60000, 0, None, None, "medium", "log.segment.delete.delay.ms"),
    ("flush.messages", "long", 9223372036854775807, 0, None, None, "medium", "log.flush.interval.messages"),
    ("flush.ms", "long", 9223372036854775807, 0, None, None, "medium", "log.flush.interval.ms"),
    (
        "follower.replication.throttled.replicas",
        "list",
        "",
        None,
        None,
        ("throttled-replicas",),
        "medium",
        "follower.replication.throttled.replicas",
    ),
    ("index.interval.bytes", "int", 4096, 0, None, None, "medium", "log.index.interval.bytes"),
    (
        "leader.replication.throttled.replicas",
        "list",
        "",
        None,
        None,
        ("throttled-replicas",),
        "medium",
        "leader.replication.throttled.replicas",
    ),
    (
        "max.compaction.lag.ms",
        "long",
        9223372036854775807,
        1,
        None,
        None,
        "medium",
        "log.cleaner.max.compaction.lag.ms",
    ),
    ("max.message.bytes", "int", 1048588, 0, None, None, "medium", "message.max.bytes"),
    ("message.downconversion.enable", "boolean", True, None, None, None, "low", "log.message.downconversion.enable"),
    (
        "message.format.version",
        "string",
        "2.7-IV2",
        None,
        None,
        (
            "0.8.0",
            "0.8.1",
            "0.8.2",
            "0.9.0",
            "0.10.0-IV0",
            "0.10.0-IV1",
            "0.10.1-IV0",
            "0.10.1-IV1",
            "0.10.1-IV2",
            "0.10.2-IV0",
            "0.11.0-IV0",
            "0.11.0-IV1",
            "0.11.0-IV2",
            "1.0-IV0",
            "1.1-IV0",
            "2.0-IV0",
            "2.0-IV1",
            "2.1-IV0",
            "2.1-IV1",
            "2.1-IV2",
            "2.2-IV0",
            "2.2-IV1",
            "2.3-IV0",
            "2.3-IV1",
            "2.4-IV0",
            "2.4-IV1",
            "2.5-IV0",
            "2.6-IV0",
            "2.7-IV0",
            "2.7-IV1",
            "2.7-IV2",
        ),
        "medium",
        "log.message.format.version",
    ),
    (
        "message.timestamp.difference.max.ms",
        "long",
        9223372036854775807,
        0,
        None,
        None,
        "medium",
        "log.message.timestamp.difference.max.ms",
    ),
    (
        "message.timestamp.type",
        "string",
        "CreateTime",
        None,
        None,
        ("CreateTime", "LogAppendTime"),
        "medium",
        "log.message.timestamp.type",
    ),
    ("min.cleanable.dirty.ratio", "double", 0.5, 0, 1, None, "medium", "log.cleaner.min.cleanable.ratio"),
    ("min.compaction.lag.ms", "long", 0, 0, None, None, "medium", "log.cleaner.min.compaction.lag.ms"),
    ("min.insync.replicas", "int", 1, 1, None, None, "medium", "min.insync.replicas"),
    ("preallocate", "boolean", False, None, None, None, "medium", "log.preallocate"),
    ("retention.bytes", "long", -1, None, None, None, "medium", "log.retention.bytes"),
    ("retention.ms", "long", 604800000, -1, None, None, "medium", "log.retention.ms"),
    ("segment.bytes", "int", 1073741824, 14, None, None, "medium", "log.segment.bytes"),
    ("segment.index.bytes", "int", 10485760, 0, None, None, "medium", "log.index.size.max.bytes"),
    ("segment.jitter.ms", "long", 0, 0, None, None, "medium", "log.roll.jitter.ms"),
    ("segment.ms", "long", 604800000, 1, None, None, "medium", "log.roll.ms"),
    ("unclean.leader.election.enable", "boolean", False, None, None, None, "medium", "unclean.leader.election.enable"),
)

# Which of several settings for one thing wins, first to last.
PRECEDENCE: dict[str, tuple[str, ...]] = {
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    "log.retention.hours": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "log.retention.minutes": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "log.retention.ms": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "log.roll.hours": ("log.roll.ms", "log.roll.hours"),
    "log.roll.jitter.hours": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    "log.roll.jitter.ms": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    "log.roll.ms": ("log.roll.ms", "log.roll.hours"),
}


class BrokerFields:
    """The typed attributes of a broker's settings."""

    __slots__ = (
        "advertised_host_name",
        "advertised_listeners",
        "advertised_port",
        "alter_config_policy_class_name",
        "alter_log_dirs_replication_quota_window_num",
        "alter_log_dirs_replication_quota_window_size_seconds",
        "authorizer_class_name",
        "auto_create_topics_enable",
        "auto_leader_rebalance_enable",
        "background_threads",
        "barnabas_facts_max_bytes",
        "barnabas_http_listeners",
        "barnabas_jaas_config_file",
        "barnabas_login_timeout_ms",
        "barnabas_metrics_max_entities",
        "barnabas_record_validation",
        "barnabas_registry_listeners",
        "barnabas_registry_min_session_timeout_ms",
        "barnabas_registry_ssl_listeners",
        "barnabas_registry_super_users",
        "barnabas_request_max_array_elements",
        "barnabas_ssl_crl_location",
        "barnabas_ssl_handshake_timeout_ms",
        "barnabas_zookeeper_digest",
        "broker_id",
        "broker_id_generation_enable",
        "broker_rack",
        "client_quota_callback_class",
        "compression_type",
        "connection_failed_authentication_delay_ms",
        "connections_max_idle_ms",
        "connections_max_reauth_ms",
        "control_plane_listener_name",
        "controlled_shutdown_enable",
        "controlled_shutdown_max_retries",
        "controlled_shutdown_retry_backoff_ms",
        "controller_quota_window_num",
        "controller_quota_window_size_seconds",
        "controller_socket_timeout_ms",
        "create_topic_policy_class_name",
        "default_replication_factor",
        "delegation_token_expiry_check_interval_ms",
        "delegation_token_expiry_time_ms",
        "delegation_token_master_key",
        "delegation_token_max_lifetime_ms",
        "delete_records_purgatory_purge_interval_requests",
        "delete_topic_enable",
        "fetch_max_bytes",
        "fetch_purgatory_purge_interval_requests",
        "group_initial_rebalance_delay_ms",
        "group_max_session_timeout_ms",
        "group_max_size",
        "group_min_session_timeout_ms",
        "host_name",
        "inter_broker_listener_name",
        "inter_broker_protocol_version",
        "kafka_metrics_polling_interval_secs",
        "kafka_metrics_reporters",
        "leader_imbalance_check_interval_seconds",
        "leader_imbalance_per_broker_percentage",
        "listener_security_protocol_map",
        "listeners",
        "log_cleaner_backoff_ms",
        "log_cleaner_dedupe_buffer_size",
        "log_cleaner_delete_retention_ms",
        "log_cleaner_enable",
        "log_cleaner_io_buffer_load_factor",
        "log_cleaner_io_buffer_size",
        "log_cleaner_io_max_bytes_per_second",
        "log_cleaner_max_compaction_lag_ms",
        "log_cleaner_min_cleanable_ratio",
        "log_cleaner_min_compaction_lag_ms",
        "log_cleaner_threads",
        "log_cleanup_policy",
        "log_dir",
        "log_dirs",
        "log_flush_interval_messages",
        "log_flush_interval_ms",
        "log_flush_offset_checkpoint_interval_ms",
        "log_flush_scheduler_interval_ms",
        "log_flush_start_offset_checkpoint_interval_ms",
        "log_index_interval_bytes",
        "log_index_size_max_bytes",
        "log_message_downconversion_enable",
        "log_message_format_version",
        "log_message_timestamp_difference_max_ms",
        "log_message_timestamp_type",
        "log_preallocate",
        "log_retention_bytes",
        "log_retention_check_interval_ms",
        "log_retention_hours",
        "log_retention_minutes",
        "log_retention_ms",
        "log_roll_hours",
        "log_roll_jitter_hours",
        "log_roll_jitter_ms",
        "log_roll_ms",
        "log_segment_bytes",
        "log_segment_delete_delay_ms",
        "max_connection_creation_rate",
        "max_connections",
        "max_connections_per_ip",
        "max_connections_per_ip_overrides",
        "max_incremental_fetch_session_cache_slots",
        "message_max_bytes",
        "metric_reporters",
        "metrics_num_samples",
        "metrics_recording_level",
        "metrics_sample_window_ms",
        "min_insync_replicas",
        "num_io_threads",
        "num_network_threads",
        "num_partitions",
        "num_recovery_threads_per_data_dir",
        "num_replica_alter_log_dirs_threads",
        "num_replica_fetchers",
        "offset_metadata_max_bytes",
        "offsets_commit_required_acks",
        "offsets_commit_timeout_ms",
        "offsets_load_buffer_size",
        "offsets_retention_check_interval_ms",
        "offsets_retention_minutes",
        "offsets_topic_compression_codec",
        "offsets_topic_num_partitions",
        "offsets_topic_replication_factor",
        "offsets_topic_segment_bytes",
        "password_encoder_cipher_algorithm",
        "password_encoder_iterations",
        "password_encoder_key_length",
        "password_encoder_keyfactory_algorithm",
        "password_encoder_old_secret",
        "password_encoder_secret",
        "port",
        "principal_builder_class",
        "producer_purgatory_purge_interval_requests",
        "queued_max_request_bytes",
        "queued_max_requests",
        "quota_consumer_default",
        "quota_producer_default",
        "quota_window_num",
        "quota_window_size_seconds",
        "replica_fetch_backoff_ms",
        "replica_fetch_max_bytes",
        "replica_fetch_min_bytes",
        "replica_fetch_response_max_bytes",
        "replica_fetch_wait_max_ms",
        "replica_high_watermark_checkpoint_interval_ms",
        "replica_lag_time_max_ms",
        "replica_selector_class",
        "replica_socket_receive_buffer_bytes",
        "replica_socket_timeout_ms",
        "replication_quota_window_num",
        "replication_quota_window_size_seconds",
        "request_timeout_ms",
        "reserved_broker_max_id",
        "sasl_client_callback_handler_class",
        "sasl_enabled_mechanisms",
        "sasl_jaas_config",
        "sasl_kerberos_kinit_cmd",
        "sasl_kerberos_min_time_before_relogin",
        "sasl_kerberos_principal_to_local_rules",
        "sasl_kerberos_service_name",
        "sasl_kerberos_ticket_renew_jitter",
        "sasl_kerberos_ticket_renew_window_factor",
        "sasl_login_callback_handler_class",
        "sasl_login_class",
        "sasl_login_refresh_buffer_seconds",
        "sasl_login_refresh_min_period_seconds",
        "sasl_login_refresh_window_factor",
        "sasl_login_refresh_window_jitter",
        "sasl_mechanism_inter_broker_protocol",
        "sasl_oauthbearer_clock_skew_seconds",
        "sasl_oauthbearer_expected_audience",
        "sasl_oauthbearer_expected_issuer",
        "sasl_oauthbearer_jwks_endpoint_refresh_ms",
        "sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms",
        "sasl_oauthbearer_jwks_endpoint_retry_backoff_ms",
        "sasl_oauthbearer_jwks_endpoint_url",
        "sasl_oauthbearer_sub_claim_name",
        "sasl_server_callback_handler_class",
        "sasl_server_max_receive_size",
        "security_inter_broker_protocol",
        "security_providers",
        "socket_connection_setup_timeout_max_ms",
        "socket_connection_setup_timeout_ms",
        "socket_receive_buffer_bytes",
        "socket_request_max_bytes",
        "socket_send_buffer_bytes",
        "ssl_cipher_suites",
        "ssl_client_auth",
        "ssl_enabled_protocols",
        "ssl_endpoint_identification_algorithm",
        "ssl_engine_factory_class",
        "ssl_key_password",
        "ssl_keymanager_algorithm",
        "ssl_keystore_certificate_chain",
        "ssl_keystore_key",
        "ssl_keystore_location",
        "ssl_keystore_password",
        "ssl_keystore_type",
        "ssl_principal_mapping_rules",
        "ssl_protocol",
        "ssl_provider",
        "ssl_secure_random_implementation",
        "ssl_trustmanager_algorithm",
        "ssl_truststore_certificates",
        "ssl_truststore_location",
        "ssl_truststore_password",
        "ssl_truststore_type",
        "transaction_abort_timed_out_transaction_cleanup_interval_ms",
        "transaction_max_timeout_ms",
        "transaction_remove_expired_transaction_cleanup_interval_ms",
        "transaction_state_log_load_buffer_size",
        "transaction_state_log_min_isr",
        "transaction_state_log_num_partitions",
        "transaction_state_log_replication_factor",
        "transaction_state_log_segment_bytes",
        "transactional_id_expiration_ms",
        "unclean_leader_election_enable",
        "zookeeper_clientcnxnsocket",
        "zookeeper_connect",
        "zookeeper_connection_timeout_ms",
        "zookeeper_max_in_flight_requests",
        "zookeeper_session_timeout_ms",
        "zookeeper_set_acl",
        "zookeeper_ssl_cipher_suites",
        "zookeeper_ssl_client_enable",
        "zookeeper_ssl_crl_enable",
        "zookeeper_ssl_enabled_protocols",
        "zookeeper_ssl_endpoint_identification_algorithm",
        "zookeeper_ssl_keystore_location",
        "zookeeper_ssl_keystore_password",
        "zookeeper_ssl_keystore_type",
        "zookeeper_ssl_ocsp_enable",
        "zookeeper_ssl_protocol",
        "zookeeper_ssl_truststore_location",
        "zookeeper_ssl_truststore_password",
        "zookeeper_ssl_truststore_type",
        "zookeeper_sync_time_ms",
    )

    if TYPE_CHECKING:
        advertised_host_name: str | None
        advertised_listeners: str | None
        advertised_port: int | None
        alter_config_policy_class_name: str | None
        alter_log_dirs_replication_quota_window_num: int
        alter_log_dirs_replication_quota_window_size_seconds: int
        authorizer_class_name: str
        auto_create_topics_enable: bool
        auto_leader_rebalance_enable: bool
        background_threads: int
        broker_id: int
        broker_id_generation_enable: bool
        broker_rack: str | None
        client_quota_callback_class: str | None
        compression_type: str
        connection_failed_authentication_delay_ms: int
        connections_max_idle_ms: int
        connections_max_reauth_ms: int
        control_plane_listener_name: str | None
        controlled_shutdown_enable: bool
        controlled_shutdown_max_retries: int
        controlled_shutdown_retry_backoff_ms: int
        controller_quota_window_num: int
        controller_quota_window_size_seconds: int
        controller_socket_timeout_ms: int
        create_topic_policy_class_name: str | None
        default_replication_factor: int
        delegation_token_expiry_check_interval_ms: int
        delegation_token_expiry_time_ms: int
        delegation_token_master_key: str | None
        delegation_token_max_lifetime_ms: int
        delete_records_purgatory_purge_interval_requests: int
        delete_topic_enable: bool
        fetch_max_bytes: int
        fetch_purgatory_purge_interval_requests: int
        group_initial_rebalance_delay_ms: int
        group_max_session_timeout_ms: int
        group_max_size: int
        group_min_session_timeout_ms: int
        host_name: str
        inter_broker_listener_name: str | None
        inter_broker_protocol_version: str
        kafka_metrics_polling_interval_secs: int
        kafka_metrics_reporters: list[str]
        leader_imbalance_check_interval_seconds: int
        leader_imbalance_per_broker_percentage: int
        listener_security_protocol_map: str
        listeners: str | None
        log_cleaner_backoff_ms: int
        log_cleaner_dedupe_buffer_size: int
        log_cleaner_delete_retention_ms: int
        log_cleaner_enable: bool
        log_cleaner_io_buffer_load_factor: float
        log_cleaner_io_buffer_size: int
        log_cleaner_io_max_bytes_per_second: float
        log_cleaner_max_compaction_lag_ms: int
        log_cleaner_min_cleanable_ratio: float
        log_cleaner_min_compaction_lag_ms: int
        log_cleaner_threads: int
        log_cleanup_policy: list[str]
        log_dir: str
        log_dirs: list[str]
        log_flush_interval_messages: int
        log_flush_interval_ms: int
        log_flush_offset_checkpoint_interval_ms: int
        log_flush_scheduler_interval_ms: int
        log_flush_start_offset_checkpoint_interval_ms: int
        log_index_interval_bytes: int
        log_index_size_max_bytes: int
        log_message_downconversion_enable: bool
        log_message_format_version: str
        log_message_timestamp_difference_max_ms: int
        log_message_timestamp_type: str
        log_preallocate: bool
        log_retention_bytes: int
        log_retention_check_interval_ms: int
        log_retention_hours: int
        log_retention_minutes: int | None
        log_retention_ms: int
        log_roll_hours: int
        log_roll_jitter_hours: int
        log_roll_jitter_ms: int
        log_roll_ms: int
        log_segment_bytes: int
        log_segment_delete_delay_ms: int
        max_connection_creation_rate: int
        max_connections: int
        max_connections_per_ip: int
        max_connections_per_ip_overrides: str
        max_incremental_fetch_session_cache_slots: int
        message_max_bytes: int
        metric_reporters: list[str]
        metrics_num_samples: int
        metrics_recording_level: str
        metrics_sample_window_ms: int
        min_insync_replicas: int
        num_io_threads: int
        num_network_threads: int
        num_partitions: int
        num_recovery_threads_per_data_dir: int
        num_replica_alter_log_dirs_threads: int | None
        num_replica_fetchers: int
        offset_metadata_max_bytes: int
        offsets_commit_required_acks: int
        offsets_commit_timeout_ms: int
        offsets_load_buffer_size: int
        offsets_retention_check_interval_ms: int
        offsets_retention_minutes: int
        offsets_topic_compression_codec: int
        offsets_topic_num_partitions: int
        offsets_topic_replication_factor: int
        offsets_topic_segment_bytes: int
        password_encoder_cipher_algorithm: str
        password_encoder_iterations: int
        password_encoder_key_length: int
        password_encoder_keyfactory_algorithm: str | None
        password_encoder_old_secret: str | None
        password_encoder_secret: str | None
        port: int
        principal_builder_class: str | None
        producer_purgatory_purge_interval_requests: int
        queued_max_request_bytes: int
        queued_max_requests: int
        quota_consumer_default: int
        quota_producer_default: int
        quota_window_num: int
        quota_window_size_seconds: int
        replica_fetch_backoff_ms: int
        replica_fetch_max_bytes: int
        replica_fetch_min_bytes: int
        replica_fetch_response_max_bytes: int
        replica_fetch_wait_max_ms: int
        replica_high_watermark_checkpoint_interval_ms: int
        replica_lag_time_max_ms: int
        replica_selector_class: str | None
        replica_socket_receive_buffer_bytes: int
        replica_socket_timeout_ms: int
        replication_quota_window_num: int
        replication_quota_window_size_seconds: int
        request_timeout_ms: int
        reserved_broker_max_id: int
        sasl_client_callback_handler_class: str | None
        sasl_enabled_mechanisms: list[str]
        sasl_jaas_config: str | None
        sasl_kerberos_kinit_cmd: str
        sasl_kerberos_min_time_before_relogin: int
        sasl_kerberos_principal_to_local_rules: list[str]
        sasl_kerberos_service_name: str | None
        sasl_kerberos_ticket_renew_jitter: float
        sasl_kerberos_ticket_renew_window_factor: float
        sasl_login_callback_handler_class: str | None
        sasl_login_class: str | None
        sasl_login_refresh_buffer_seconds: int
        sasl_login_refresh_min_period_seconds: int
        sasl_login_refresh_window_factor: float
        sasl_login_refresh_window_jitter: float
        sasl_mechanism_inter_broker_protocol: str
        sasl_server_callback_handler_class: str | None
        security_inter_broker_protocol: str
        security_providers: str | None
        socket_connection_setup_timeout_max_ms: int
        socket_connection_setup_timeout_ms: int
        socket_receive_buffer_bytes: int
        socket_request_max_bytes: int
        socket_send_buffer_bytes: int
        ssl_cipher_suites: list[str]
        ssl_client_auth: str
        ssl_enabled_protocols: list[str]
        ssl_endpoint_identification_algorithm: str
        ssl_engine_factory_class: str | None
        ssl_key_password: str | None
        ssl_keymanager_algorithm: str
        ssl_keystore_certificate_chain: str | None
        ssl_keystore_key: str | None
        ssl_keystore_location: str | None
        ssl_keystore_password: str | None
        ssl_keystore_type: str
        ssl_principal_mapping_rules: str
        ssl_protocol: str
        ssl_provider: str | None
        ssl_secure_random_implementation: str | None
        ssl_trustmanager_algorithm: str
        ssl_truststore_certificates: str | None
        ssl_truststore_location: str | None
        ssl_truststore_password: str | None
        ssl_truststore_type: str
        transaction_abort_timed_out_transaction_cleanup_interval_ms: int
        transaction_max_timeout_ms: int
        transaction_remove_expired_transaction_cleanup_interval_ms: int
        transaction_state_log_load_buffer_size: int
        transaction_state_log_min_isr: int
        transaction_state_log_num_partitions: int
        transaction_state_log_replication_factor: int
        transaction_state_log_segment_bytes: int
        transactional_id_expiration_ms: int
        unclean_leader_election_enable: bool
        zookeeper_clientcnxnsocket: str | None
        zookeeper_connect: str | None
        zookeeper_connection_timeout_ms: int | None
        zookeeper_max_in_flight_requests: int
        zookeeper_session_timeout_ms: int
        zookeeper_set_acl: bool
        zookeeper_ssl_cipher_suites: list[str] | None
        zookeeper_ssl_client_enable: bool
        zookeeper_ssl_crl_enable: bool
        zookeeper_ssl_enabled_protocols: list[str] | None
        zookeeper_ssl_endpoint_identification_algorithm: str
        zookeeper_ssl_keystore_location: str | None
        zookeeper_ssl_keystore_password: str | None
        zookeeper_ssl_keystore_type: str | None
        zookeeper_ssl_ocsp_enable: bool
        zookeeper_ssl_protocol: str
        zookeeper_ssl_truststore_location: str | None
        zookeeper_ssl_truststore_password: str | None
        zookeeper_ssl_truststore_type: str | None
        zookeeper_sync_time_ms: int
        barnabas_facts_max_bytes: int
        barnabas_http_listeners: list[str]
        barnabas_jaas_config_file: str | None
        barnabas_login_timeout_ms: int
        barnabas_metrics_max_entities: int
        barnabas_record_validation: str
        barnabas_request_max_array_elements: int
        sasl_oauthbearer_clock_skew_seconds: int
        sasl_oauthbearer_expected_audience: list[str] | None
        sasl_oauthbearer_expected_issuer: str | None
        sasl_oauthbearer_jwks_endpoint_refresh_ms: int
        sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int
        sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int
        sasl_oauthbearer_jwks_endpoint_url: str | None
        sasl_oauthbearer_sub_claim_name: str
        sasl_server_max_receive_size: int
        barnabas_ssl_crl_location: str | None
        barnabas_ssl_handshake_timeout_ms: int
        barnabas_registry_listeners: list[str]
        barnabas_registry_min_session_timeout_ms: int
        barnabas_registry_ssl_listeners: list[str]
        barnabas_registry_super_users: str | None
        barnabas_zookeeper_digest: str | None


class TopicFields:
    """The typed attributes of a topic's settings."""

    __slots__ = (
        "cleanup_policy",
        "compression_type",
        "delete_retention_ms",
        "file_delete_delay_ms",
        "flush_messages",
        "flush_ms",
        "follower_replication_throttled_replicas",
        "index_interval_bytes",
        "leader_replication_throttled_replicas",
        "max_compaction_lag_ms",
        "max_message_bytes",
        "message_downconversion_enable",
        "message_format_version",
        "message_timestamp_difference_max_ms",
        "message_timestamp_type",
        "min_cleanable_dirty_ratio",
        "min_compaction_lag_ms",
        "min_insync_replicas",
        "preallocate",
        "retention_bytes",
        "retention_ms",
        "segment_bytes",
        "segment_index_bytes",
        "segment_jitter_ms",
        "segment_ms",
        "unclean_leader_election_enable",
    )

    if TYPE_CHECKING:
        cleanup_policy: list[str]
        compression_type: str
        delete_retention_ms: int
        file_delete_delay_ms: int
        flush_messages: int
        flush_ms: int
        follower_replication_throttled_replicas: list[str]
        index_interval_bytes: int
        leader_replication_throttled_replicas: list[str]
        max_compaction_lag_ms: int
        max_message_bytes: int
        message_downconversion_enable: bool
        message_format_version: str
        message_timestamp_difference_max_ms: int
        message_timestamp_type: str
        min_cleanable_dirty_ratio: float
        min_compaction_lag_ms: int
        min_insync_replicas: int
        preallocate: bool
        retention_bytes: int
        retention_ms: int
        segment_bytes: int
        segment_index_bytes: int
        segment_jitter_ms: int
        segment_ms: int
        unclean_leader_election_enable: bool
