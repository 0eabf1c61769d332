"""The clusters that the job follows, and the options of its sources."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NOT_CONFIGURED = ""
"""The option of a source that is not configured (yet).

It still belongs to the query: Spark numbers the sources in its checkpoint, and cannot resume with
another number of them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """The listener of controllers or brokers.

    Attributes:
        bootstrap: "host:port,host:port".
        security: fields of `streams.net.security.Security`; names of files, never secrets.
    """

    bootstrap: str
    security: Mapping[str, str | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSources:
    """One cluster and its sources.

    Attributes:
        cluster_id: a cluster with another id is refused; None: not checked.
        zookeeper: the input of `streams.zookeeper.ensemble.parse_ensemble`; names of files, never
            secrets.
        jmx: the input of `streams.jmx.config.parse_jmx`; names of files, never secrets.
    """

    cluster: str
    cluster_id: str | None = None
    controllers: ListenerSettings | None = None
    zookeeper: Mapping[str, object] | None = None
    brokers: ListenerSettings | None = None
    jmx: Mapping[str, object] | None = None

    def options(self, state_dir: Path) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield each source's format and options, in the order of the checkpoint."""
        state = (state_dir / "clusters" / self.cluster).absolute()
        common = {
            "cluster": self.cluster,
            "state": str(state),
            "bell": str((state_dir / "bell").absolute()),
        }
        log = {"path": str(state / "__cluster_metadata-0")}
        yield "kraft_metadata", common | log | {"controllers": self._option(self.controllers)}
        ensemble = NOT_CONFIGURED if self.zookeeper is None else json.dumps(self.zookeeper)
        yield "zookeeper", common | {"ensemble": ensemble}
        yield "log_dirs", common | {"brokers": self._option(self.brokers)}
        jmx = NOT_CONFIGURED if self.jmx is None else json.dumps(self.jmx)
        yield "jmx", common | {"asked": jmx}

    def _option(self, listener: ListenerSettings | None) -> str:
        if listener is None:
            return NOT_CONFIGURED
        return json.dumps(
            {
                "bootstrap": listener.bootstrap,
                "cluster_id": self.cluster_id,
                "security": dict(listener.security),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """The clusters to follow, in a constant order."""

    clusters: Sequence[ClusterSources]
