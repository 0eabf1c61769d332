"""Reads kraftgate.yaml and reports all problems at once, each with its line and a fix.

The result is one `Config` for both forms of the file: `clusters` is never empty, and paths are
relative to the file's directory. It uses no network and reads no secret.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from orchestrator.config import CONFIG_FILE
from orchestrator.config.alerts import Alerts
from orchestrator.config.models import (
    ClusterEntry,
    ConfigFile,
    ConsoleAddress,
    MetricsAddress,
    PerCluster,
    Publish,
)
from orchestrator.config.spark import Spark
from orchestrator.config.yaml_lines import Problem, YamlFile, read_yaml
from orchestrator.config.yaml_models import check_model, in_order, read_text
from orchestrator.errors import ConfigError, UnknownIdError
from orchestrator.process.crash import keep_in

_DOCUMENTED: Final = "see the example in `kraftgate run --help`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The checked configuration.

    Attributes:
        path: the file, for messages.
        many: whether the file has `clusters`, so that output is a list as well.
        stall_after_ms: how long a held broker may be without progress.
        alerts: the receivers that Kraftgate notifies itself.
        spark: where Spark runs the job.
        publish: the topic to which events are published.
    """

    path: Path
    clusters: tuple[ClusterEntry, ...]
    many: bool
    state_dir: Path
    metrics: MetricsAddress | None
    console: ConsoleAddress | None
    stall_after_ms: int
    alerts: Alerts = field(default_factory=Alerts)
    spark: Spark = field(default_factory=Spark)
    publish: Publish | None = None

    @property
    def option(self) -> tuple[str, ...]:
        """The option that names the file, for a command that an operator runs in its directory."""
        return () if self.path == CONFIG_FILE else ("--config", str(self.path))

    def clusters_named(self, name: str | None) -> Sequence[ClusterEntry]:
        """Return all clusters, or the one of this name.

        Raises:
            UnknownIdError: no cluster has this name.
        """
        found = [each for each in self.clusters if name in (None, each.name)]
        if not found:
            names = ", ".join(each.name for each in self.clusters)
            raise UnknownIdError(f"{self.path} has no cluster {name}. Configured clusters: {names}")
        return found

    def one_cluster(self, name: str | None) -> ClusterEntry:
        """Return the named cluster, or the only one.

        Raises:
            UnknownIdError: no cluster has this name, or several are configured and none is named.
        """
        found = self.clusters_named(name)
        if len(found) > 1:
            names = ", ".join(each.name for each in found)
            raise UnknownIdError(
                f"more than one cluster is configured; pass --cluster with one of: {names}"
            )
        return found[0]


def load_config(path: Path) -> Config:
    """Read and check a configuration file.

    Raises:
        ConfigError: it cannot be used; the error has every problem that was found.
    """
    _, text = read_text(path, ConfigError, ": give the file with --config FILE")
    config = parse_config(text, path)
    keep_in(config.state_dir)
    return config


def parse_config(text: str, path: Path) -> Config:
    """Check the text of a configuration file whose path is `path`.

    Raises:
        ConfigError: it cannot be used; the error has every problem that was found.
    """
    read = read_yaml(text)
    context = {"base": path.resolve().parent}
    config, found = check_model(ConfigFile, read, context, documented=_DOCUMENTED)
    problems = list(found)
    if isinstance(read.data, dict):
        problems.extend(_across_keys(read, read.data))
    if problems or config is None:
        raise ConfigError(in_order(problems, path))
    return _settled(config, path)


def _settled(config: ConfigFile, path: Path) -> Config:
    clusters: Sequence[ClusterEntry] = config.clusters or ()
    if config.cluster is not None:
        keys = {key: getattr(config, key) for key in PerCluster.model_fields}
        clusters = (ClusterEntry(**dict(config.cluster), **keys),)
    return Config(
        path=path,
        clusters=tuple(clusters),
        many=config.clusters is not None,
        state_dir=path.resolve().parent / config.state_dir,
        metrics=config.metrics,
        console=config.console,
        stall_after_ms=int(config.stall.after.total_seconds() * 1000),
        alerts=config.alerts,
        spark=config.run.spark,
        publish=config.publish,
    )


def _across_keys(read: YamlFile, data: Mapping[str, object]) -> Iterator[Problem]:
    """Yield the problems that involve more than one key."""
    one, many = data.get("cluster"), data.get("clusters")
    if one is None and many is None:
        what = f"`cluster` is missing: write cluster: {{name: prod}}, {_DOCUMENTED}"
        yield Problem(line=1, what=what)
    if one is not None and many is not None:
        what = "`cluster` and `clusters` exclude each other: keep one"
        yield Problem(line=read.line(("clusters",)), what=what)
    if many is not None:
        for key in PerCluster.model_fields:
            if data.get(key) is not None:
                what = f"`{key}` belongs inside each entry of `clusters`"
                yield Problem(line=read.line((key,)), what=what)
        yield from _taken_twice(read, many, "name", "choose another")
        yield from _taken_twice(read, many, "id", "keep one entry")


def _taken_twice(read: YamlFile, entries: object, key: str, fix: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for position, entry in enumerate(entries if isinstance(entries, list) else ()):
        value = entry.get(key) if isinstance(entry, dict) else None
        if not isinstance(value, str):
            continue
        line = read.line(("clusters", position, key))
        if value in first:
            what = f"the cluster {key} `{value}` is taken (line {first[value]}): {fix}"
            yield Problem(line=line, what=what)
        first.setdefault(value, line)
