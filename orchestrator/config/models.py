"""The shape of kraftgate.yaml, as pydantic checks it; `orchestrator.config.load` reads the file."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator

from orchestrator.config.alerts import Alerts
from orchestrator.config.jmx import Jmx
from orchestrator.config.spark import Spark
from orchestrator.config.values import (
    Bootstrap,
    ClusterName,
    Directory,
    Duration,
    File,
    HostName,
    Listen,
    SecretFile,
    ShippedOrFile,
    Strict,
    TopicName,
    Zookeeper,
)
from streams.net.endpoint import Endpoint


class _Tls(Strict):
    """The TLS files of a listener; TLS is used if `protocol` ends in `SSL`.

    Attributes:
        ca_file: PEM file of trusted authorities. Default: the system's.
        cert_file: PEM file of the client's certificate, for mutual TLS.
        key_file: PEM file of the certificate's private key, not encrypted.
        check_hostname: Whether the server's certificate must name its host.
    """

    protocol: str = "PLAINTEXT"
    ca_file: File | None = None
    cert_file: File | None = None
    key_file: SecretFile | None = None
    check_hostname: bool = True

    @model_validator(mode="after")
    def _files_fit(self) -> Self:
        if not self.protocol.endswith("SSL") and (self.ca_file or self.cert_file or self.key_file):
            protocols = get_args(type(self).model_fields["protocol"].annotation)
            raise ValueError(
                f"protocol {self.protocol} takes no `ca_file`, `cert_file` or `key_file`: remove"
                f" them or write {' or '.join(each for each in protocols if each.endswith('SSL'))}"
            )
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("`cert_file` and `key_file` belong together: give both or none")
        return self


class Security(_Tls):
    """How the listener is reached: TLS and SASL. Secrets are in files of their own.

    Attributes:
        protocol: The listener's security protocol.
        sasl_mechanism: The SASL mechanism; required by the protocols `SASL_...`.
        username: The user for `PLAIN` and `SCRAM-...`.
        password_file: File whose first line is the password.
    """

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: (
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER"] | None
    ) = None
    username: str | None = None
    password_file: SecretFile | None = None

    @model_validator(mode="after")
    def _sasl_fits(self) -> Self:
        sasl = self.protocol.startswith("SASL_")
        if sasl and self.sasl_mechanism is None:
            raise ValueError(f"protocol {self.protocol} needs `sasl_mechanism`")
        if not sasl and (self.sasl_mechanism or self.username or self.password_file):
            raise ValueError(
                f"protocol {self.protocol} takes no `sasl_mechanism`, `username` or"
                " `password_file`: remove them or write SASL_PLAINTEXT or SASL_SSL"
            )
        secret = self.sasl_mechanism in {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
        if secret and (self.username is None or self.password_file is None):
            raise ValueError(f"{self.sasl_mechanism} needs `username` and `password_file`")
        return self


class Listener(Strict):
    """The listener of the controllers, or of the brokers.

    Attributes:
        bootstrap: Addresses of the listener. Brokers that are not named are found from these. Name
            every controller: `preflight` and the conditions on the quorum ask only those.
    """

    bootstrap: Bootstrap
    security: Security = Security()


class ZookeeperSecurity(_Tls):
    """How ZooKeeper is reached. Secrets are in files of their own.

    Attributes:
        protocol: `SSL` for TLS.
        username: A user of ZooKeeper's scheme `digest`.
        password_file: File whose first line is that user's password.
        cert_file: PEM file of the client's certificate; the identity in ZooKeeper is the
            certificate's subject (scheme `x509`).
    """

    protocol: Literal["PLAINTEXT", "SSL"] = "PLAINTEXT"
    username: str | None = Field(default=None, min_length=1, pattern="^[^:]*$")
    password_file: SecretFile | None = None

    @model_validator(mode="after")
    def _login_is_whole(self) -> Self:
        if (self.username is None) != (self.password_file is None):
            raise ValueError("`username` and `password_file` belong together: give both or none")
        return self


class ZookeeperEnsemble(Strict):
    """The ZooKeeper ensemble.

    Attributes:
        connect: Addresses of the ensemble with Kafka's chroot, as Kafka's `zookeeper.connect`.
    """

    connect: Zookeeper
    security: ZookeeperSecurity = ZookeeperSecurity()


class RunbookEntry(Strict):
    """The runbook that `kraftgate run` executes.

    Attributes:
        file: The name of a bundled runbook, or a file (a path with `/` or ending in `.yaml`).
        hooks: The file of hooks for `run --execute`.
    """

    file: ShippedOrFile
    hooks: File | None = None


class PerCluster(Strict):
    """The keys that each cluster has, at the top level or in its entry of `clusters`.

    Attributes:
        zookeeper: The ZooKeeper ensemble of the cluster.
        controllers: The KRaft controllers. They may be started later.
        brokers: The brokers.
        jmx: JMX numbers, read from each node's jmx_exporter or from Prometheus.
        runbook: The runbook that `kraftgate run` executes.
    """

    zookeeper: ZookeeperEnsemble | None = None
    controllers: Listener | None = None
    brokers: Listener | None = None
    jmx: Jmx | None = None
    runbook: RunbookEntry | None = None


class ClusterIdentity(Strict):
    """The short form for one cluster: `cluster: {name, id}`, with the addresses at the top level.

    Attributes:
        name: The name on every line and in every label; up to 64 letters, digits, `.`, `_`, `-`.
        id: The cluster id, which the controllers, ZooKeeper and the brokers must have. Default: the
            id that they reported to `kraftgate run`; before that, any.
    """

    name: ClusterName
    id: str | None = Field(default=None, min_length=1)


class ClusterEntry(PerCluster, ClusterIdentity):
    """One cluster."""


class MetricsAddress(Strict):
    """The endpoint for Prometheus.

    Attributes:
        listen: The address. Default: this host only.
    """

    listen: Listen = Endpoint("127.0.0.1", 9464)


class ConsoleTls(Strict):
    """The console's certificate. A changed file is used without a restart.

    Attributes:
        cert_file: PEM file of the certificate and its chain.
        key_file: PEM file of the private key, not encrypted.
    """

    cert_file: File
    key_file: SecretFile


class ConsoleAddress(Strict):
    """The web console.

    Attributes:
        listen: The address. Default: this host only. Another address than loopback requires `tls`
            or `insecure: true`.
        insecure: Accept plain HTTP beyond loopback; every page then shows a warning.
        token_file: File whose first line is the token that permits every action on the execution.
            Default: a new token at each start.
        hosts: Further names by which browsers reach the console, such as that of a proxy.
    """

    listen: Listen = Endpoint("127.0.0.1", 8464)
    tls: ConsoleTls | None = None
    insecure: bool = False
    token_file: SecretFile | None = None
    hosts: Annotated[tuple[HostName, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if self.tls is not None and self.insecure:
            raise ValueError("`insecure: true` is for plain HTTP: remove it, or `tls`")
        return self


KAFKA_SILENT: Final = timedelta(minutes=2)


class Stall(Strict):
    """When a held broker without progress counts as stalled, and a step as without effect.

    Attributes:
        after: Time without progress; more than 2 minutes, because Kafka retries a failed request
            for that long without a message. The stall is critical after three times as long.
        trial: Allow a shorter `after`, for a test cluster.
    """

    after: Duration = timedelta(minutes=5)
    trial: bool = False

    @model_validator(mode="after")
    def _is_longer_than_kafkas_own(self) -> Self:
        if self.after <= KAFKA_SILENT and not self.trial:
            raise ValueError(
                "`after` must be longer than 2m, because Kafka retries a failed request for that"
                " long without a message; `trial: true` allows a shorter one on a test cluster"
            )
        return self


class Publish(Listener):
    """A topic to which events and transitions are published, of a cluster that is not followed.

    Attributes:
        topic: The topic; it must exist.
    """

    topic: TopicName


class Run(Strict):
    """How `kraftgate run` runs.

    Attributes:
        spark: Where Spark runs the job. Default: this machine.
    """

    spark: Spark = Spark()


def _some_clusters(value: object) -> object:
    if not isinstance(value, list) or not value:
        raise ValueError("must be a list of at least one cluster, each with a name")
    return value


class ConfigFile(PerCluster):
    """The whole file: `cluster` with the addresses at the top level, or `clusters`.

    Attributes:
        cluster: The cluster. Its addresses are keys at the top level.
        clusters: Several clusters instead of `cluster`: a list of entries, each with the keys
            `name`, `id`, `zookeeper`, `controllers`, `brokers`, `jmx` and `runbook`.
        state_dir: The directory for everything that Kraftgate keeps. It is private to the user
            that runs Kraftgate.
        metrics: The endpoint for Prometheus. `{}` uses the defaults; without the key nothing
            listens.
        console: The web console. Without the key it is served only with `run --console`.
        stall: When a held broker without progress counts as stalled, and a step as without effect.
        alerts: Receivers that Kraftgate notifies itself, without Prometheus.
        run: How `kraftgate run` runs.
        publish: A topic to which events and transitions are published, of a cluster that is not
            followed.
    """

    cluster: ClusterIdentity | None = None
    clusters: Annotated[list[ClusterEntry], BeforeValidator(_some_clusters)] | None = None
    state_dir: Directory = Path("kraftgate-state")
    metrics: MetricsAddress | None = None
    console: ConsoleAddress | None = None
    stall: Stall = Stall()
    alerts: Alerts = Alerts()
    run: Run = Run()
    publish: Publish | None = None
