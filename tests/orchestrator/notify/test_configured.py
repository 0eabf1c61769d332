"""The key `alerts`: what is taken, what is refused, and that every secret is known as one."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from migration.values.severity import Severity
from orchestrator.config.alerts import SECRETS, Alerts
from orchestrator.config.load import parse_config
from orchestrator.errors import ConfigError
from orchestrator.redaction.configured_secrets import configured_files
from tests.orchestrator.notify import receivers

PUBLIC = {"ca_file"}
BOTH = "username: u, password_file: key, bearer_token_file: key"


def test_everything_is_read_with_its_defaults(tmp_path: Path) -> None:
    lines = (
        receivers.alertmanager(tmp_path, "http://am:9093")
        + receivers.slack(tmp_path, "https://hooks.slack.com")
        + "  pagerduty: [{routing_key_file: key}, {routing_key_file: key, min_severity: info}]\n"
        + "  webhook: [{url: 'https://h/x', name: mine}]\n"
        + "  heartbeat: [{url: 'https://hc/uuid', every: 30s}]\n"
        + "  repeat_after: 1h\n"
    )
    receivers.secret(tmp_path, "key", receivers.ROUTING_KEY)
    alerts = receivers.config(tmp_path, lines).alerts
    assert list(dict(alerts.destinations())) == [
        "alertmanager",
        "slack",
        "pagerduty",
        "pagerduty-2",
        "mine",
        "heartbeat",
    ]
    severities = [each.min_severity for each in alerts.receivers().values()]
    warning, critical = Severity.WARNING, Severity.CRITICAL
    assert severities == [warning, warning, critical, Severity.INFO, warning]
    assert alerts.pagerduty[0].url == "https://events.pagerduty.com/v2/enqueue"
    assert alerts.heartbeat[0].every == timedelta(seconds=30)
    assert alerts.repeat_after == timedelta(hours=1)
    assert alerts.alertmanager[0].url == "http://am:9093/prefix"


def test_without_the_key_nobody_is_told() -> None:
    alerts = parse_config("cluster: {name: prod}\n", Path("kraftgate.yaml")).alerts
    assert list(alerts.destinations()) == []
    assert alerts.repeat_after == timedelta(hours=4)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("slack: {url_file: key}", "`alerts.slack`: must be a list, not dict"),
        ("slack: [{url_file: key, url: 'https://h'}]", "unknown key `url` in `alerts.slack[0]`"),
        ("slack: [{url_file: key, ca_file: gone}]", "there is no file"),
        (
            "slack: [{url_file: key, min_severity: bad}]",
            "`alerts.slack[0].min_severity`: must be info, warning or critical",
        ),
        ("webhook: [{}]", "needs `url`, or `url_file` where the address is a secret; not both"),
        ("webhook: [{url: 'https://u:p@h'}]", "names a user"),
        (
            "webhook: [{url: 'https://h', header_files: {}}]",
            "must hold keys and values, like",
        ),
        (
            "webhook: [{url: 'https://h', header_files: {'a b': key}}]",
            "'a b' is no name of a header",
        ),
        (
            "webhook: [{url: 'https://h', header_files: {Host: key}}]",
            "`Host` is set by kraftgate: remove it",
        ),
        (
            "alertmanager: [{url: 'http://am', username: u}]",
            "`username` and `password_file` belong together",
        ),
        (
            f"alertmanager: [{{url: 'http://a', {BOTH}}}]",
            "takes `username` or `bearer_token_file`: remove one",
        ),
        (
            "alertmanager: [{url: 'http://am', ca_file: key}]",
            "`alertmanager` takes no `ca_file`: its address begins with http:",
        ),
        ("pagerduty: [{}]", "`alerts.pagerduty[0].routing_key_file` is missing: add it"),
        (
            "webhook: [{url: 'https://h', name: x}, {url: 'https://i', name: x}]",
            "two of them are named `x`",
        ),
        ("repeat_after: 1m", "must be 5m at least"),
        ("heartbeat: [{url: 'https://h', every: 1s}]", "must be 10s at least"),
        ("runbook_url: wiki", "is no HTTP address"),
        ("mail: []", "unknown key `mail` in `alerts`"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_reason(
    lines: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("x\n")
    text = f"cluster: {{name: prod}}\nalerts: {{{lines}}}\n"
    with pytest.raises(ConfigError) as caught:
        parse_config(text, tmp_path / "kraftgate.yaml")
    (problem,) = caught.value.problems
    assert said in problem
    assert problem.startswith(f"{tmp_path / 'kraftgate.yaml'}:2: ")


def test_a_stall_is_told_no_sooner_than_kafka_gives_up(tmp_path: Path) -> None:
    text = "cluster: {name: prod}\nstall: {after: 2m}\n"
    with pytest.raises(ConfigError, match="must be longer than 2m"):
        parse_config(text, tmp_path / "kraftgate.yaml")
    above = parse_config(text.replace("2m", "121s"), tmp_path / "kraftgate.yaml")
    assert above.stall_after_ms == 121_000
    trial = parse_config(text.replace("2m", "5s, trial: true"), tmp_path / "kraftgate.yaml")
    assert trial.stall_after_ms == 5000


def file_keys(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if name.endswith(("_file", "_files")):
            yield name
        for each in _models(field.annotation):
            yield from file_keys(each)


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models(argument)


def test_every_file_of_the_key_is_a_secret_or_said_to_be_none() -> None:
    named_so = {"password_file", "bearer_token_file"}
    assert set(file_keys(Alerts)) == SECRETS | named_so | PUBLIC


def test_the_secrets_are_known_to_whoever_takes_them_out(tmp_path: Path) -> None:
    lines = (
        receivers.alertmanager(tmp_path, "http://am:9093")
        + receivers.slack(tmp_path, "https://hooks.slack.com")
        + receivers.pagerduty(tmp_path, "https://pd")
        + receivers.webhook(tmp_path, "https://h")
    )
    found = configured_files(receivers.config(tmp_path, lines))
    assert {each.name for each in found} == {"bearer", "slack-url", "pd-key", "auth"}


@pytest.mark.parametrize(
    "url", ["https://u:hunter2/@h", "https://u:hunter2#@h", "https://h/#hunter2"]
)
@pytest.mark.parametrize(
    "lines", ["webhook: [{{url: '{}'}}]", "webhook: [{{url: 'https://h', proxy: '{}'}}]"]
)
def test_the_message_about_a_url_does_not_have_its_password(lines: str, url: str) -> None:
    text = f"cluster: {{name: prod}}\nalerts: {{{lines.format(url)}}}\n"
    with pytest.raises(ConfigError) as caught:
        parse_config(text, Path("kraftgate.yaml"))
    (problem,) = caught.value.problems
    assert "hunter2" not in problem
