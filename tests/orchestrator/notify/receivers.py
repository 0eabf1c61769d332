"""Receivers as a configuration names them, with their secrets in files."""

from pathlib import Path
from typing import Any

from orchestrator.config.load import Config, parse_config
from orchestrator.notify.channel import Channel
from orchestrator.notify.configured import channels

SLACK_PATH = "/services/T000/B000/very-secret-part"
ROUTING_KEY = "0123456789abcdef0123456789abcdef"
TOKEN = "token-of-the-webhook-17"  # noqa: S105
PAGES = "https://wiki.example.com/kraftgate"


def config(folder: Path, alerts: str) -> Config:
    text = f"cluster: {{name: prod}}\nstate_dir: state\nalerts:\n  runbook_url: '{PAGES}'\n{alerts}"
    return parse_config(text, folder / "kraftgate.yaml")


def secret(folder: Path, name: str, value: str) -> str:
    """A file with a secret, as a configuration names it."""
    (folder / name).write_text(f"{value}\n")
    return name


def slack(folder: Path, url: str, more: str = "") -> str:
    file = secret(folder, "slack-url", f"{url}{SLACK_PATH}")
    return f"  slack: [{{url_file: {file}{more}}}]\n"


def pagerduty(folder: Path, url: str, more: str = "") -> str:
    file = secret(folder, "pd-key", ROUTING_KEY)
    return f"  pagerduty: [{{routing_key_file: {file}, url: '{url}/v2/enqueue'{more}}}]\n"


def webhook(folder: Path, url: str, more: str = "") -> str:
    file = secret(folder, "auth", TOKEN)
    headers = f"header_files: {{Authorization: {file}}}"
    return f"  webhook: [{{url: '{url}/hook', {headers}{more}}}]\n"


def alertmanager(folder: Path, url: str, more: str = "") -> str:
    file = secret(folder, "bearer", TOKEN)
    return f"  alertmanager: [{{url: '{url}/prefix/', bearer_token_file: {file}{more}}}]\n"


def channel(folder: Path, alerts: str) -> Channel[Any]:
    """The one channel of a configuration."""
    (found,) = channels(config(folder, alerts).alerts)
    return found
