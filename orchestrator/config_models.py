"""The shape of kraftgate.yaml, as pydantic checks it; `orchestrator.config` reads the file."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from orchestrator.config_alerts import Alerts
from orchestrator.config_jmx import Jmx
from orchestrator.config_values import (
    Bootstrap,
    ClusterName,
    Directory,
    Duration,
    File,
    HostName,
    HostPort,
    Listen,
    ShippedOrFile,
    Strict,
    Zookeeper,
)


def _check_files(given: "Security | ZookeeperSecurity", *, tls: bool, instead: str) -> None:
    if not tls and (given.ca_file or given.cert_file or given.key_file):
        raise ValueError(
            f"protocol {given.protocol} takes no `ca_file`, `cert_file` or `key_file`:"
            f" remove them or write {instead}"
        )
    if (given.cert_file is None) != (given.key_file is None):
        raise ValueError("`cert_file` and `key_file` belong together: give both or none")


class Security(Strict):
    """How a listener wants to be spoken to. It names where secrets are and holds none."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: (
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER"] | None
    ) = None
    username: str | None = None
    password_file: File | None = None
    ca_file: File | None = None
    cert_file: File | None = None
    key_file: File | None = None
    check_hostname: bool = True

    @model_validator(mode="after")
    def _belongs_together(self) -> "Security":
        sasl, tls = self.protocol.startswith("SASL_"), self.protocol.endswith("SSL")
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
        _check_files(self, tls=tls, instead="SSL or SASL_SSL")
        return self


class Listener(Strict):
    """Where the controllers, or the brokers, are asked."""

    bootstrap: Bootstrap
    security: Security = Security()


class ZookeeperSecurity(Strict):
    """How ZooKeeper wants to be spoken to. It names where secrets are and holds none.

    A user is one of the scheme `digest`; with a certificate of its own, the client is who that
    names (`x509`).
    """

    protocol: Literal["PLAINTEXT", "SSL"] = "PLAINTEXT"
    username: str | None = Field(default=None, min_length=1, pattern="^[^:]*$")
    password_file: File | None = None
    ca_file: File | None = None
    cert_file: File | None = None
    key_file: File | None = None
    check_hostname: bool = True

    @model_validator(mode="after")
    def _belongs_together(self) -> "ZookeeperSecurity":
        if (self.username is None) != (self.password_file is None):
            raise ValueError("`username` and `password_file` belong together: give both or none")
        _check_files(self, tls=self.protocol == "SSL", instead="SSL")
        return self


class ZookeeperEnsemble(Strict):
    """Where ZooKeeper is, and how it is reached."""

    connect: Zookeeper
    security: ZookeeperSecurity = ZookeeperSecurity()


class RunbookEntry(Strict):
    """Which runbook is walked, and with which commands of the operator's."""

    file: ShippedOrFile
    hooks: File | None = None


class ClusterEntry(Strict):
    """One cluster; `id`, when given, is compared with what the controllers say."""

    name: ClusterName
    id: str | None = Field(default=None, min_length=1)
    zookeeper: ZookeeperEnsemble | None = None
    controllers: Listener | None = None
    brokers: Listener | None = None
    jmx: Jmx | None = None
    runbook: RunbookEntry | None = None


class ClusterIdentity(Strict):
    """The short form: `cluster: {name, id}` with the addresses in the top level."""

    name: ClusterName
    id: str | None = Field(default=None, min_length=1)


class MetricsAddress(Strict):
    """Where the metrics are served; to this host alone unless it is said."""

    listen: Listen = HostPort("127.0.0.1", 9464)


class ConsoleTls(Strict):
    """The console's certificate and its key, as PEM files; they are read again when they change."""

    cert_file: File
    key_file: File


class ConsoleAddress(Strict):
    """Where the web console is served; to this host alone unless it is said.

    Attributes:
        tls: None: it speaks plain HTTP, which only loopback is safe for.
        insecure: plain HTTP is accepted beyond loopback.
        token_file: whose first line is the token to approve, pause and abort with; None: a fresh
            one is made at each start.
        hosts: further names by which browsers reach it, such as that of a proxy.
    """

    listen: Listen = HostPort("127.0.0.1", 8464)
    tls: ConsoleTls | None = None
    insecure: bool = False
    token_file: File | None = None
    hosts: Annotated[tuple[HostName, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "ConsoleAddress":
        if self.tls is not None and self.insecure:
            raise ValueError("`insecure: true` is for plain HTTP: remove it, or `tls`")
        return self


KAFKA_SILENT: Final = timedelta(minutes=2)


class Stall(Strict):
    """When a held broker without progress counts as stalled.

    Attributes:
        trial: on a cluster to try it on it may be less than what Kafka itself is silent for.
    """

    after: Duration = timedelta(minutes=5)
    trial: bool = False

    @model_validator(mode="after")
    def _is_longer_than_kafkas_own(self) -> "Stall":
        if self.after <= KAFKA_SILENT and not self.trial:
            raise ValueError(
                "`after` must be longer than 2m: so long Kafka itself repeats a request that fails"
                " and says nothing (`trial: true` allows it on a cluster to try it on)"
            )
        return self


def _some_clusters(value: object) -> object:
    if not isinstance(value, list) or not value:
        raise ValueError("must be a list of at least one cluster, each with a name")
    return value


class ConfigFile(Strict):
    """The whole file: `cluster` with the addresses beside it, or `clusters`."""

    cluster: ClusterIdentity | None = None
    clusters: Annotated[list[ClusterEntry], BeforeValidator(_some_clusters)] | None = None
    zookeeper: ZookeeperEnsemble | None = None
    controllers: Listener | None = None
    brokers: Listener | None = None
    jmx: Jmx | None = None
    runbook: RunbookEntry | None = None
    state_dir: Directory = Path("kraftgate-state")
    metrics: MetricsAddress | None = None
    console: ConsoleAddress | None = None
    stall: Stall = Stall()
    alerts: Alerts = Alerts()
