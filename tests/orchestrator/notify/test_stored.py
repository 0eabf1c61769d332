"""Files that an earlier version wrote are read, and written with the same keys."""

import json
from pathlib import Path
from typing import Final

from migration.assessment.alerts import Alert, AlertState, AlertStates
from orchestrator.config.alerts import SlackReceiver
from orchestrator.notify.delivery import Delivery
from orchestrator.notify.delivery_file import DeliveryFile
from orchestrator.run.alert_file import AlertFile, read

SLACK: Final = SlackReceiver.model_construct(url_file=Path("/etc/kraftgate/slack"))
DELIVERIES: Final = (
    '{"place":"4084e1e738527356","told":{"df3d920c8e424465":{"alert":{"name":"KraftgateHarmDone",'
    '"labels":{"cluster":"prod","severity":"critical","hazard":"records_lost"},"summary":"s",'
    '"description":"d","details":["x"],"since_ms":1000},"starts_ms":2000,"times":3,"last_ms":5000,'
    '"unsure":true,"over_ms":6000,"resolved_ms":7000,"returns":2}},"success_ms":5000,'
    '"failure_ms":6500,"why":"no answer"}'
)
"""As version 0.1.0 wrote it for that receiver."""
STATES: Final = (
    '{"standings":{"at_ms":9000,"all":{"df3d920c8e424465":{"alert":{"name":"KraftgateHarmDone",'
    '"labels":{"cluster":"prod","severity":"critical","hazard":"records_lost"},"summary":"s",'
    '"description":"d","details":["x"],"since_ms":1000},"found_ms":1500,"stands_ms":2000,'
    '"is_known":false}}}}'
)
ALERT: Final = Alert(
    name="KraftgateHarmDone",
    labels={"cluster": "prod", "severity": "critical", "hazard": "records_lost"},
    summary="s",
    description="d",
    details=("x",),
    since_ms=1000,
)


def test_deliveries_keep_their_keys(tmp_path: Path) -> None:
    file = DeliveryFile(tmp_path, "slack", SLACK)
    file.path.parent.mkdir()
    file.path.write_text(DELIVERIES)
    state = file.read()
    assert state.deliveries == {
        ALERT.fingerprint: Delivery(
            alert=ALERT,
            active_since_ms=2000,
            count=3,
            last_ms=5000,
            unconfirmed=True,
            resolved_ms=6000,
            resolution_sent_ms=7000,
            reactivations=2,
        )
    }
    assert (state.success_ms, state.failure_ms, state.error) == (5000, 6500, "no answer")
    file.write(state)
    written = json.loads(file.path.read_text())
    (delivery,) = written["told"].values()
    assert delivery["alert"].pop("for_ms") == 0, "a key that the earlier version ignores"
    assert delivery["alert"].pop("bound_ms") is None, "another one"
    assert written == json.loads(DELIVERIES)


def test_alert_states_keep_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "alerts.json"
    path.write_text(STATES)
    state = AlertState(alert=ALERT, found_ms=1500, active_since_ms=2000, is_known=False)
    assert read(path) == AlertStates(at_ms=9000, all={ALERT.fingerprint: state})
    AlertFile(path).keep(read(path))
    written = json.loads(path.read_text())
    (alert,) = written["standings"]["all"].values()
    assert alert["alert"].pop("for_ms") == 0, "a key that the earlier version ignores"
    assert alert["alert"].pop("bound_ms") is None, "another one"
    assert alert.pop("held_ms") is None, "another one"
    assert written == json.loads(STATES)
