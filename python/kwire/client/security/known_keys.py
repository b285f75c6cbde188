"""The keys of Kafka's client configurations that kwire uses, and the keys that have no effect on it."""

from __future__ import annotations

from kwire.declare.secrets import is_secret_config

USED = frozenset(
    {
        "bootstrap.servers",
        "client.id",
        "connections.max.idle.ms",
        "request.timeout.ms",
        "sasl.jaas.config",
        "sasl.kerberos.service.name",
        "sasl.login.connect.timeout.ms",
        "sasl.mechanism",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)

PUBLIC = ("ssl.keystore.certificate.chain", "ssl.truststore.certificates")
"""Keys that Kafka hides although certificates are public."""

WITHOUT_EFFECT = frozenset(
    {
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "security.providers",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    }
)
"""Keys of security that only Java's security, its login threads, or brokers use. A warning names them."""

PLUGINS = frozenset(
    {
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.oauthbearer.jwt.retriever.class",
        "ssl.engine.factory.class",
    }
)
"""Keys with classes of Java that take part in the authentication or in TLS."""

KAFKA_PLUGINS = frozenset(
    {
        "ClientCredentialsJwtRetriever",
        "DefaultJwtRetriever",
        "DefaultLogin",
        "DefaultSslEngineFactory",
        "FileJwtRetriever",
        "KerberosClientCallbackHandler",
        "KerberosLogin",
        "OAuthBearerLoginCallbackHandler",
        "OAuthBearerRefreshingLogin",
        "OAuthBearerSaslClientCallbackHandler",
        "OAuthBearerUnsecuredLoginCallbackHandler",
        "SaslClientCallbackHandler",
    }
)
"""Classes of Kafka, without their packages, that do what kwire does."""

MSK_PLUGINS = frozenset({"IAMClientCallbackHandler", "IAMOAuthBearerLoginCallbackHandler"})
"""Classes of aws-msk-iam-auth: `MskIamCredentials` does the same."""

KNOWN_OPTIONS = {
    "IAMLoginModule": ("awsProfileName", "awsStsRegion"),
    "Krb5LoginModule": (
        # The first three decide. The others are Java's, and their usual values are what kwire does.
        *("keyTab", "principal", "useKeyTab"),
        *("debug", "doNotPrompt", "isInitiator", "renewTGT", "serviceName", "storeKey", "useTicketCache"),
    ),
    "OAuthBearerLoginModule": ("awsProfileName", "awsStsRegion", "clientId", "clientSecret", "scope"),
    "PlainLoginModule": ("password", "serviceName", "username"),
    "ScramLoginModule": ("password", "serviceName", "tokenauth", "username"),
}
"""The options of login modules that kwire uses, or that change nothing."""
OPTION_PREFIXES = ("extension_", "ssl.", "unsecuredLogin")
"""Beginnings of the names of more options of OAuthBearerLoginModule."""

LIBRDKAFKA = {
    "enable.ssl.certificate.verification": "ssl.endpoint.identification.algorithm",
    "metadata.broker.list": "bootstrap.servers",
    "sasl.kerberos.keytab": "keyTab in sasl.jaas.config",
    "sasl.kerberos.principal": "principal in sasl.jaas.config",
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.id": "clientId in sasl.jaas.config",
    "sasl.oauthbearer.client.secret": "clientSecret in sasl.jaas.config",
    "sasl.oauthbearer.config": "sasl.jaas.config",
    "sasl.oauthbearer.extensions": "extension_NAME in sasl.jaas.config",
    "sasl.oauthbearer.method": "sasl.oauthbearer.token.endpoint.url",
    "sasl.password": "password in sasl.jaas.config",
    "sasl.username": "username in sasl.jaas.config",
    "ssl.ca.certificate.stores": "ssl.truststore.location",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.location": "ssl.keystore.location",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.curves.list": "",
    "ssl.crl.location": "",
    "ssl.engine.location": "",
    "ssl.key.location": "ssl.keystore.location",
    "ssl.key.pem": "ssl.keystore.key",
    "ssl.sigalgs.list": "",
}
"""Keys of librdkafka that decide about security, and the key of Kafka's clients for each; empty if there is none."""

IGNORED = frozenset(
    {
        # Clients of Kafka have them, and they have no meaning here.
        "auto.include.jmx.reporter",
        "bootstrap.controllers",
        "client.dns.lookup",
        "config.providers",
        "default.api.timeout.ms",
        "enable.metrics.push",
        "metadata.max.age.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        # Producers and consumers.
        "acks",
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "batch.size",
        "buffer.memory",
        "check.crcs",
        "client.rack",
        "compression.type",
        "delivery.timeout.ms",
        "enable.auto.commit",
        "enable.idempotence",
        "exclude.internal.topics",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "interceptor.classes",
        "isolation.level",
        "key.deserializer",
        "key.serializer",
        "linger.ms",
        "max.block.ms",
        "max.in.flight.requests.per.connection",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "max.poll.records",
        "max.request.size",
        "partition.assignment.strategy",
        "partitioner.class",
        "session.timeout.ms",
        "transaction.timeout.ms",
        "transactional.id",
        "value.deserializer",
        "value.serializer",
    }
)


def is_known(key: str) -> bool:
    """Return whether Kafka's clients know a key."""
    known = key in USED or key in IGNORED or key in WITHOUT_EFFECT or key in PLUGINS
    return known or key.startswith("config.providers.")


def intended_key(key: str) -> str | None:
    """Return the key that only case or separators distinguish from an unknown key, such as `security_protocol`."""
    intended = key.strip().replace("_", ".").replace("-", ".").lower()
    return intended if intended != key and is_known(intended) else None


def is_secret_key(key: str) -> bool:
    """Return whether the value of a key must be kept from other users."""
    return is_secret_config(key) and key not in PUBLIC
