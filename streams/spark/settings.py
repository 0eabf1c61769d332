"""The clusters that the job follows, the options of its sources, and where Spark runs it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

NOT_CONFIGURED = ""
"""The option of a source that is not configured (yet); what it observed earlier is still read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Where Spark runs the job.

    Attributes:
        master: Spark's master URL; None: that of `spark-submit`, or else this machine.
        settings: Spark's settings, instead of Kraftgate's own ones.
        secret_file: its first line is the secret of Spark's connections; None: there is none, or
            the cluster manager creates it.
    """

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    secret_file: Path | None = None


LOCAL = Deployment()
"""This machine, with Kraftgate's settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSources:
    """One cluster and its sources.

    Attributes:
        cluster_id: a cluster with another id is refused; None: not checked.
        controllers, brokers: their listeners: `bootstrap` ("host:port,host:port"), and `security`,
            fields of `streams.net.security.Security`; names of files, never secrets.
        zookeeper: the input of `streams.zookeeper.ensemble.parse_ensemble`; names of files, never
            secrets.
        jmx: the input of `streams.jmx.config.parse_jmx`; names of files, never secrets.
    """

    cluster: str
    cluster_id: str | None = None
    controllers: Mapping[str, object] | None = None
    zookeeper: Mapping[str, object] | None = None
    brokers: Mapping[str, object] | None = None
    jmx: Mapping[str, object] | None = None

    def options(self, state_dir: Path) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield each source's format and options."""
        state = (state_dir / "clusters" / self.cluster).absolute()
        common = {"cluster": self.cluster, "state": str(state)}
        log = {"path": str(state / "__cluster_metadata-0")}
        yield "kraft_metadata", common | log | {"controllers": self._listener(self.controllers)}
        yield "zookeeper", common | {"ensemble": _option(self.zookeeper)}
        yield "log_dirs", common | {"brokers": self._listener(self.brokers)}
        yield "jmx", common | {"asked": _option(self.jmx)}

    def _listener(self, listener: Mapping[str, object] | None) -> str:
        return _option(listener and {**listener, "cluster_id": self.cluster_id})


def _option(value: Mapping[str, object] | None) -> str:
    return NOT_CONFIGURED if value is None else json.dumps(value)
