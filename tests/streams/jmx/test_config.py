"""From kraftgate.yaml to the source's option and back: names of files, never secrets."""

from pathlib import Path

from orchestrator.config.load import parse_config
from orchestrator.run.job import job_sources
from streams.jmx.config import Access, JmxConfig, PrometheusServer, parse_jmx


def option(jmx: str, folder: Path) -> str:
    config = parse_config(f"cluster: {{name: a}}\njmx: {jmx}\n", folder / "kraftgate.yaml")
    (cluster,) = job_sources(config)
    return dict(cluster.options(folder))["jmx"]["asked"]


def test_exporters(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    asked = option(
        '{exporters: {"1": "http://b1/metrics", "3000": "http://c1/metrics"},'
        " username: u, password_file: secret}",
        tmp_path,
    )
    assert "hunter2" not in asked
    found = parse_jmx(asked)
    assert found == JmxConfig(
        exporters={1: "http://b1/metrics", 3000: "http://c1/metrics"},
        access=Access(username="u", password_file=tmp_path / "secret"),
    )
    assert found.named == {1, 3000}


def test_prometheus(tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    asked = option(
        '{prometheus: {url: "http://p:9090/", labels: {job: kafka}, instances: {"b1:1": 1}},'
        " bearer_token_file: token}",
        tmp_path,
    )
    found = parse_jmx(asked)
    assert found == JmxConfig(
        prometheus=PrometheusServer(
            url="http://p:9090", labels={"job": "kafka"}, instances={"b1:1": 1}
        ),
        access=Access(bearer_token_file=tmp_path / "token"),
    )
    assert found.named == {1}


def test_a_cluster_without_it_has_the_source_all_the_same(tmp_path: Path) -> None:
    """What an earlier run observed, which had it, is still read."""
    config = parse_config("cluster: {name: a}\n", tmp_path / "kraftgate.yaml")
    (cluster,) = job_sources(config)
    names = [name for name, _ in cluster.options(tmp_path)]
    assert names == ["kraft_metadata", "zookeeper", "log_dirs", "jmx"]
    assert dict(cluster.options(tmp_path))["jmx"]["asked"] == ""
