"""The shape of kraftgate.yaml, as pydantic checks it; `orchestrator.config` reads the file."""

from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from orchestrator.config_values import (
    Bootstrap,
    ClusterName,
    Directory,
    Duration,
    File,
    Listen,
    Zookeeper,
)


class Strict(BaseModel):
    """No coercion, no unknown keys, no change afterwards, no value in an error's text."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


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
        if not tls and (self.ca_file or self.cert_file or self.key_file):
            raise ValueError(
                f"protocol {self.protocol} takes no `ca_file`, `cert_file` or `key_file`:"
                " remove them or write SSL or SASL_SSL"
            )
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("`cert_file` and `key_file` belong together: give both or none")
        return self


class Listener(Strict):
    """Where the controllers, or the brokers, are asked."""

    bootstrap: Bootstrap
    security: Security = Security()


class ZookeeperEnsemble(Strict):
    """Where ZooKeeper is."""

    connect: Zookeeper


class ClusterEntry(Strict):
    """One cluster; `id`, when given, is compared with what the controllers say."""

    name: ClusterName
    id: str | None = Field(default=None, min_length=1)
    zookeeper: ZookeeperEnsemble | None = None
    controllers: Listener | None = None
    brokers: Listener | None = None


class ClusterIdentity(Strict):
    """The short form: `cluster: {name, id}` with the addresses in the top level."""

    name: ClusterName
    id: str | None = Field(default=None, min_length=1)


class Address(Strict):
    """Where something of kraftgate listens."""

    listen: Listen


class Stall(Strict):
    """When a held broker without progress counts as stalled."""

    after: Duration = timedelta(minutes=5)


class ConfigFile(Strict):
    """The whole file: `cluster` with the addresses beside it, or `clusters`."""

    cluster: ClusterIdentity | None = None
    clusters: list[ClusterEntry] | None = Field(default=None, min_length=1)
    zookeeper: ZookeeperEnsemble | None = None
    controllers: Listener | None = None
    brokers: Listener | None = None
    state_dir: Directory = Path("kraftgate-state")
    metrics: Address | None = None
    console: Address | None = None
    stall: Stall = Stall()
