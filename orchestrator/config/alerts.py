"""The key `alerts`: the receivers that Kraftgate notifies itself.

The configuration names the files of secrets. They are read again at every notification.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, model_validator

from migration.values.severity import Severity
from orchestrator.config.jmx import HttpLogin, Server, Url, entries_of
from orchestrator.config.values import (
    ClusterName,
    Duration,
    File,
    SecretFile,
    Strict,
    at_least,
    text_like,
)

RUNBOOK_URL: Final = "https://kraftgate.example/runbooks/alerts"
"""The base URL of the alert pages unless another is configured; an example, as in the Prometheus
rules."""
PAGERDUTY_URL: Final = "https://events.pagerduty.com/v2/enqueue"
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OUR_HEADERS: Final = {"content-type", "content-length", "host", "user-agent", "idempotency-key"}
SECRETS: Final = frozenset({"url_file", "routing_key_file", "header_files"})
"""The keys whose files contain secrets although their names do not show it."""
_LIST: Final = Field(strict=False)


def _headers(value: object) -> object:
    for name in entries_of(value, 'Authorization: "/etc/kraftgate/auth"'):
        header = text_like(name, "Authorization")
        if not _HEADER.fullmatch(header):
            raise ValueError(f"{header!r} is no name of a header")
        if header.lower() in _OUR_HEADERS:
            raise ValueError(f"`{header}` is set by kraftgate: remove it")
    return value


MinSeverity: TypeAlias = Annotated[Severity, Field(strict=False)]
HeaderFiles: TypeAlias = Annotated[dict[str, SecretFile], BeforeValidator(_headers)]


class Destination(Strict):
    """The keys of every receiver and heartbeat.

    Attributes:
        name: The name in messages and metrics. Default: its kind, with a number if there are
            several.
        ca_file: PEM file of trusted authorities. Default: the system's.
        proxy: URL of an HTTP proxy.
    """

    name: ClusterName | None = None
    ca_file: File | None = None
    proxy: Server | None = None


class Receiver(Destination):
    """A receiver of alerts.

    Attributes:
        min_severity: Send alerts of this severity and higher.
    """

    min_severity: MinSeverity = Severity.WARNING


class AlertmanagerReceiver(HttpLogin, Receiver):
    """An Alertmanager, by its API v2. Each member of an Alertmanager cluster is an entry.

    Attributes:
        url: URL of the server, with its path prefix if it has one.
    """

    url: Server


class SlackReceiver(Receiver):
    """A Slack channel.

    Attributes:
        url_file: File whose first line is the URL of the incoming webhook.
    """

    url_file: SecretFile


class PagerDutyReceiver(Receiver):
    """A PagerDuty service, by Events v2. It receives critical alerts only, by default.

    Attributes:
        routing_key_file: File whose first line is the integration key.
        url: URL of Events v2; it differs between regions.
    """

    routing_key_file: SecretFile
    url: Url = PAGERDUTY_URL
    min_severity: MinSeverity = Severity.CRITICAL


class _Addressed(Strict):
    """A URL, in the configuration or, if it is a secret, in a file of its own.

    Attributes:
        url: The URL, if it is not a secret.
        url_file: File whose first line is the URL, instead of `url`.
        header_files: For each HTTP header, the file whose first line is its value.
    """

    url: Url | None = None
    url_file: SecretFile | None = None
    header_files: HeaderFiles | None = None

    @model_validator(mode="after")
    def _is_somewhere(self) -> "_Addressed":
        if (self.url is None) == (self.url_file is None):
            raise ValueError("needs `url`, or `url_file` where the address is a secret; not both")
        return self


class WebhookReceiver(_Addressed, Receiver):
    """An HTTP endpoint that accepts JSON in the format of Alertmanager's webhook."""


class Heartbeat(_Addressed, Destination):
    """A dead man's switch: it alerts when Kraftgate no longer posts.

    Attributes:
        every: The interval between two posts.
    """

    every: Annotated[Duration, at_least("10s")] = timedelta(minutes=1)


class Alerts(Strict):
    """The receivers that Kraftgate notifies itself.

    Attributes:
        runbook_url: The URL under which the alert pages (`runbooks/alerts`) are published.
        repeat_after: An active alert is sent again after this time, except to an Alertmanager,
            which has its own interval.
    """

    runbook_url: Server = RUNBOOK_URL
    repeat_after: Annotated[Duration, at_least("5m")] = timedelta(hours=4)
    alertmanager: Annotated[tuple[AlertmanagerReceiver, ...], _LIST] = ()
    slack: Annotated[tuple[SlackReceiver, ...], _LIST] = ()
    pagerduty: Annotated[tuple[PagerDutyReceiver, ...], _LIST] = ()
    webhook: Annotated[tuple[WebhookReceiver, ...], _LIST] = ()
    heartbeat: Annotated[tuple[Heartbeat, ...], _LIST] = ()

    @model_validator(mode="after")
    def _names_differ(self) -> "Alerts":
        names = [name for name, _ in self.destinations()]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two of them are named `{twice}`: give one another `name`")
        for name, each in self.destinations():
            if each.ca_file is not None and not _may_be_https(each):
                raise ValueError(f"`{name}` takes no `ca_file`: its address begins with http:")
        return self

    def destinations(self) -> Iterator[tuple[str, Destination]]:
        for kind in _KINDS:
            found: tuple[Destination, ...] = getattr(self, kind)
            for number, each in enumerate(found, start=1):
                yield each.name or (kind if number == 1 else f"{kind}-{number}"), each

    def receivers(self) -> Mapping[str, Receiver]:
        return {name: each for name, each in self.destinations() if isinstance(each, Receiver)}

    def heartbeats(self) -> Mapping[str, Heartbeat]:
        return {name: each for name, each in self.destinations() if isinstance(each, Heartbeat)}


Kind: TypeAlias = Literal["alertmanager", "slack", "pagerduty", "webhook", "heartbeat"]
_KINDS: Final[tuple[Kind, ...]] = ("alertmanager", "slack", "pagerduty", "webhook", "heartbeat")


def _may_be_https(given: Destination) -> bool:
    url: str | Path | None = getattr(given, "url", None)
    return url is None or urlsplit(str(url)).scheme == "https"
