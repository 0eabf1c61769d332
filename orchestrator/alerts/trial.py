"""One alert that is none, to see whether receivers can be told."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from migration.assessment.alerts import Alert, Severity
from orchestrator.alerts.channel import Channel
from orchestrator.alerts.channels import channels
from orchestrator.alerts.notice import Notice
from orchestrator.alerts.post import Undelivered
from orchestrator.alerts.to_heartbeat import ToHeartbeat
from orchestrator.config import Config

NAME = "KraftgateTest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one receiver.

    Attributes:
        taken: whether it took the alert.
        said: what it answered, or why not.
    """

    receiver: str
    taken: bool
    said: str


def tell_all(
    config: Config, severity: Severity, now_ms: int, *, resolve: bool
) -> Iterator[Outcome]:
    """Tell every receiver one alert, whatever it is told otherwise, or that it is over.

    Heartbeats get a sign of life.
    """
    notice = Notice(
        alert=_alert(config, severity), starts_ms=now_ms, ends_ms=now_ms if resolve else None
    )
    for name, (_, channel) in channels(config.alerts).items():
        yield _told(name, channel, (notice,), now_ms)
    for name, given in config.alerts.heartbeats().items():
        yield _told(name, ToHeartbeat(given), (), now_ms)


def _alert(config: Config, severity: Severity) -> Alert:
    clusters = ", ".join(each.name for each in config.clusters)
    return Alert(
        name=NAME,
        labels={"severity": severity, "cluster": config.clusters[0].name},
        summary="This is a test, and nothing is wrong.",
        description=(
            f"Somebody tries on {socket.gethostname()} whether Kraftgate, which follows {clusters},"
            " can tell you of alerts. There is nothing to do."
        ),
        details=("`kraftgate alerts test --resolve` ends it.",),
    )


def _told(name: str, channel: Channel, notices: tuple[Notice, ...], now_ms: int) -> Outcome:
    try:
        return Outcome(receiver=name, taken=True, said=channel.tell(notices, now_ms))
    except Undelivered as error:
        return Outcome(receiver=name, taken=False, said=str(error))
    finally:
        channel.close()
