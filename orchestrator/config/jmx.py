"""The key `jmx` of a cluster: the source of the JMX numbers.

The source is either every node's jmx_exporter or the Prometheus that scrapes them. In both cases
the configuration names the files of secrets and contains none.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final, Self, TypeAlias
from urllib.parse import SplitResult, urlsplit

from pydantic import BeforeValidator, model_validator

from migration.values.foreign import INT32_MAX
from orchestrator.config.values import File, SecretFile, Strict, text_like, text_matching


def _url(value: object) -> str:
    # The messages do not have the text: a `/` or `#` in a password ends the host before the `@`.
    text = text_like(value, "http://b1:7071/metrics").strip()
    parts = _split(text)
    if parts is None or re.search(r"\s", text):
        raise ValueError("is no HTTP address: write it like http://b1:7071/metrics")
    if parts.username is not None or parts.password is not None:
        raise ValueError("names a user: remove the part up to `@`")
    if parts.fragment:
        raise ValueError("has a fragment: remove the part from `#` on")
    return text


def _split(text: str) -> SplitResult | None:
    """Split a URL; None: it is not an HTTP URL."""
    try:
        parts = urlsplit(text)
        whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if whole else None


def _server(value: object) -> str:
    text = _url(value)
    if urlsplit(text).query:
        raise ValueError("has a query: remove the part from `?` on")
    return text.rstrip("/")


def _node(value: object) -> int:
    digits = isinstance(value, str) and re.fullmatch(r"[0-9]{1,10}", value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (digits or whole) or not 0 <= int(str(value)) <= INT32_MAX:
        raise ValueError(f"{value!r} is no node id: write a number like 1 or 3000")
    return int(str(value))


def entries_of(value: object, example: str) -> Mapping[object, object]:
    """Return the value if it has keys and values.

    Raises:
        ValueError: it has none.
    """
    if not isinstance(value, dict) or not value:
        raise ValueError(f"must hold keys and values, like {{{example}}}")
    return value


def _exporters(value: object) -> dict[int, str]:
    entries = entries_of(value, '"1": "http://b1:7071/metrics"')
    found = {}
    for key, each in entries.items():
        node = _node(key)
        try:
            found[node] = _url(each)
        except ValueError as error:
            raise ValueError(f"node {node}: {error}") from None
    if len(found) < len(entries):
        raise ValueError("names a node id twice: remove one")
    return found


def _instances(value: object) -> dict[str, int]:
    entries = entries_of(value, '"b1:7071": 1')
    found = {text_like(key, "b1:7071"): _node(each) for key, each in entries.items()}
    if len(set(found.values())) < len(found):
        raise ValueError("names a node id twice: remove one")
    return found


_label: Final = text_matching(
    re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*"),
    "node_id",
    "is no label: letters, digits and '_', no digit first",
)


def _labels(value: object) -> dict[str, str]:
    entries = entries_of(value, 'job: "kafka"')
    return {_label(key): text_like(each, "kafka") for key, each in entries.items()}


Url: TypeAlias = Annotated[str, BeforeValidator(_url)]
Server: TypeAlias = Annotated[str, BeforeValidator(_server)]
Exporters: TypeAlias = Annotated[dict[int, str], BeforeValidator(_exporters)]
Instances: TypeAlias = Annotated[dict[str, int], BeforeValidator(_instances)]
Label: TypeAlias = Annotated[str, BeforeValidator(_label)]
Labels: TypeAlias = Annotated[dict[str, str], BeforeValidator(_labels)]


class HttpLogin(Strict):
    """How an HTTP server is logged in to, if it asks for that.

    Attributes:
        username: The user for HTTP basic authentication.
        password_file: File whose first line is that user's password.
        bearer_token_file: File whose first line is a bearer token.
    """

    username: str | None = None
    password_file: SecretFile | None = None
    bearer_token_file: SecretFile | None = None

    @model_validator(mode="after")
    def _is_one_login(self) -> Self:
        if (self.username is None) != (self.password_file is None):
            raise ValueError("`username` and `password_file` belong together: give both or none")
        if self.username is not None and self.bearer_token_file is not None:
            raise ValueError("takes `username` or `bearer_token_file`: remove one")
        return self


class Prometheus(Strict):
    """The Prometheus server that scrapes the nodes.

    Attributes:
        url: URL of the server, with its path prefix if it has one.
        labels: Labels that all series of this cluster have.
        node_label: The label whose value is the node id.
        instances: The node ids by the label `instance`, instead of `node_label`.
    """

    url: Server
    labels: Labels | None = None
    node_label: Label | None = None
    instances: Instances | None = None

    @model_validator(mode="after")
    def _names_nodes(self) -> "Prometheus":
        if (self.node_label is None) == (self.instances is None):
            raise ValueError(
                "needs `node_label` (the label with the node id) or `instances` (node ids by"
                " `instance`), and not both"
            )
        return self


class Jmx(HttpLogin):
    """The source of JMX numbers: `exporters` or `prometheus`.

    Attributes:
        exporters: URL of each node's jmx_exporter.
        ca_file: PEM file of trusted authorities. Default: the system's.
    """

    exporters: Exporters | None = None
    prometheus: Prometheus | None = None
    ca_file: File | None = None

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.exporters is None) == (self.prometheus is None):
            raise ValueError("needs `exporters` or `prometheus`, and not both")
        urls = [self.prometheus.url] if self.prometheus else list((self.exporters or {}).values())
        if self.ca_file is not None and all(urlsplit(url).scheme != "https" for url in urls):
            raise ValueError("takes no `ca_file`: no address begins with https")
        return self
