"""Nothing secret leaves the console, wherever it was planted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from migration.metadata.events import Event
from orchestrator.audit.execution import entries
from orchestrator.config.load import parse_config
from orchestrator.redaction.configured_secrets import configured_files
from orchestrator.run import execution_status
from tests.orchestrator.views.console.conftest import Start
from tests.orchestrator.views.console.reading import client, watching
from tests.orchestrator.views.console.scenes import ANNA

IN_FILE, IN_ENVIRONMENT, SHAPED = "hunter2-of-the-brokers", "hunter3-of-a-hook", "hunter4shaped"
SECURITY = (
    "{{protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN, username: kraftgate, password_file: '{}'}}"
)


def test_a_given_token_is_a_secret_of_the_configuration(tmp_path: Path) -> None:
    """So that it is taken out of the audit trail, too."""
    file = tmp_path / "token"
    file.write_text("correct-horse-battery\n")
    text = "cluster: {name: prod}\nconsole: {token_file: token}\n"
    found = configured_files(parse_config(text, tmp_path / "kraftgate.yaml"))
    assert found == {file: "console.token_file"}


def test_nothing_secret_is_in_any_answer(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted in the configuration's files, the environment, events, hooks' words and entries."""
    (tmp_path / "password").write_text(f"{IN_FILE}\n")
    monkeypatch.setenv("HOOK_PASSWORD", IN_ENVIRONMENT)
    security = SECURITY.format(tmp_path / "password")
    clusters = (
        "clusters:\n- name: prod\n  runbook: {file: zk-to-kraft-jbod}\n"
        f"  brokers: {{bootstrap: 'b1:9092', security: {security}}}\n"
    )
    served = start(clusters=clusters)
    world = served.world
    leak = f"login {IN_FILE} {IN_ENVIRONMENT} password={SHAPED}, {served.token}"
    walk = world.trail.state()
    assert walk is not None
    home = world.config.state_dir / "clusters" / "prod"
    said = execution_status.read(home / execution_status.EXECUTION_FILE)
    assert said is not None
    leaking = said.model_copy(update={"asks": leak, "holds": (leak,), "shown": leak})
    event = Event(offset=9, timestamp_ms=world.at.now_ms, kind="leak", fields={"said": leak})
    world._commit([event])
    world._say(world.at.now_ms, entries.Paused(by=ANNA, reason=leak))
    status = json.loads((home / "zookeeper.json").read_text())
    (home / "zookeeper.json").write_text(json.dumps(status | {"waiting": leak}))
    execution_status.write(home / execution_status.EXECUTION_FILE, leaking)
    world.at = replace(world.at, now_ms=world.at.now_ms + 20)
    with watching(served) as page:
        answers = [json.dumps(page.next().data)]
        served.look()
        answers.append(json.dumps(page.next("change").data))
    paths = (
        "/",
        "/api/state",
        "/api/session",
        "/api/schema",
        "/api/clusters/prod/timeline",
        "/api/clusters/prod/events?limit=1000",
        "/api/clusters/prod/brokers/2/pending",
        "/api/clusters/prod/checkpoints/brokers-kraft",
        f"/api/clusters/{IN_FILE}/timeline",
        "/api/clusters/prod/events?cursor=" + IN_ENVIRONMENT,
    )
    with client(served, token=served.token) as http:
        for path in paths:
            answer = http.get(path)
            answers.append(f"{answer.text} {dict(answer.headers)}")
        answer = http.post(
            "/api/clusters/prod/approve",
            json={"who": "anna", "reason": IN_FILE, "checkpoint": IN_ENVIRONMENT},
        )
        answers.append(answer.text)
    text = "\n".join(answers)
    assert "[redacted]" in text
    assert "login" in text
    for secret in (IN_FILE, IN_ENVIRONMENT, SHAPED, served.token):
        assert secret not in text
