"""Which alerts stand now, for a command that looks once: as `run` last told, judged anew."""

from migration.assessment.alerts import Standings, advance
from migration.assessment.conditions import DataSource
from migration.assessment.waits.cluster import waits
from migration.assessment.waits.wait import WaitKind
from orchestrator.alerts import kept
from orchestrator.alerts.scene_of import scene_of
from orchestrator.conditions.view import view_of
from orchestrator.config import Config
from orchestrator.config_models import ClusterEntry
from orchestrator.following import Snapshot, Tally


def standings_now(
    config: Config, entry: ClusterEntry, one: Snapshot, tally: Tally, now_ms: int
) -> Standings:
    """Judge one look on top of what `kraftgate run` told; nothing is kept of it.

    Without a `run` that runs nothing is current, so what stood stands, and is said not to be known.
    """
    told = kept.read(config.state_dir / "clusters" / entry.name / kept.ALERTS_FILE)
    found = waits(one.summary, one.status, now_ms, config.stall_after_ms)
    behind = any(each.kind is WaitKind.CATCHING_UP for each in found)
    unread = {DataSource.METADATA_LOG: "committed records have not been read yet"} if behind else {}
    view = view_of(one, entry, now_ms, stall_after_ms=config.stall_after_ms, unread=unread)
    return advance(told, scene_of(one, entry, view, tally))
