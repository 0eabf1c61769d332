"""Debian's Prometheus and its promtool; a test fails if they are missing."""

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import urlencode, urlsplit

import pytest
import yaml

from orchestrator.lab.machine.ports import LOOPBACK, Ports

_READY_S_MAX = 180.0
_STOP_S_MAX = 60.0
LINE = "apt-get install -y --no-install-recommends prometheus prometheus-alertmanager"
Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Of a series: names and values, in the order of the names."""


def program(name: str) -> str:
    """Return the program's path; the test fails if it is missing."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"there is no {name}. Run: {LINE}", pytrace=False)
    return found


def promtool(*arguments: str | Path, stdin: str = "") -> tuple[int, str]:
    """Run promtool; return its exit code and output."""
    done = subprocess.run(
        [program("promtool"), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@contextmanager
def running(
    folder: Path,
    nodes: Mapping[int, str] = MappingProxyType({}),
    *,
    kraftgate: str | None = None,
    rules: str | None = None,
    alertmanager: str | None = None,
) -> Iterator[str]:
    """Run a server with its data below `folder`; yield its base address.

    It scrapes the nodes and Kraftgate every second, the nodes' label `node_id` is their id, and
    evaluates the rules every second.

    Args:
        folder: Its own.
        nodes: The URL to scrape, by node id.
        kraftgate: host:port of `metrics.listen`.
        rules: The text of a file of rules.
        alertmanager: host:port of the receiver of alerts.
    """
    folder.mkdir(exist_ok=True)
    config = folder / "prometheus.yml"
    content = _config(nodes, kraftgate)
    if rules is not None:
        (folder / "rules.yaml").write_text(rules, "utf-8")
        content["rule_files"] = ["rules.yaml"]
    if alertmanager is not None:
        told = [{"targets": [alertmanager]}]
        content["alerting"] = {"alertmanagers": [{"static_configs": told}]}
    config.write_text(yaml.safe_dump(content), "utf-8")
    ports = Ports()
    address = f"{LOOPBACK}:{ports.take()}"
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                program("prometheus"),
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={address}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_ready(f"http://{address}", process)
        yield f"http://{address}"
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        ports.close()


def api(url: str, path: str, **asked: str | float) -> Any:
    """Return the HTTP API's answer to a valid query; paths are below `/api/v1/`."""
    with urllib.request.urlopen(  # noqa: S310  # ours
        f"{url}/api/v1/{path}?{urlencode(asked)}", timeout=120
    ) as reply:
        return json.load(reply)["data"]


def ask(url: str, expr: str, **at: float) -> dict[Labels, float]:
    """Return the value of an expression now, or at a `time`."""
    found = api(url, "query", query=expr, **at)["result"]
    return {tuple(sorted(each["metric"].items())): float(each["value"][1]) for each in found}


def ask_range(
    url: str, expr: str, begin_s: float, end_s: float, step_s: float = 1.0
) -> dict[Labels, list[tuple[float, float]]]:
    """Return an expression's values between two times: (time, value) of each series."""
    found = api(url, "query_range", query=expr, start=begin_s, end=end_s, step=step_s)["result"]
    return {
        tuple(sorted(each["metric"].items())): [(at, float(value)) for at, value in each["values"]]
        for each in found
    }


def _config(nodes: Mapping[int, str], kraftgate: str | None) -> dict[str, object]:
    jobs: list[dict[str, object]] = []
    if nodes:
        targets = [
            {"targets": [urlsplit(url).netloc], "labels": {"node_id": str(id_)}}
            for id_, url in nodes.items()
        ]
        jobs.append({"job_name": "kafka", "static_configs": targets})
    if kraftgate is not None:
        jobs.append({"job_name": "kraftgate", "static_configs": [{"targets": [kraftgate]}]})
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    return {"global": every, "scrape_configs": jobs}


def wait_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a Prometheus-like server is ready."""
    deadline_s = time.monotonic() + _READY_S_MAX
    while time.monotonic() < deadline_s:
        assert process.poll() is None, f"{url} ended"
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=2):  # noqa: S310  # ours
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"{url} was not ready within {_READY_S_MAX} s")
