"""Approvals that count as two people: by the login of this process, and by the console's token."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Final

from orchestrator.errors import ExitCode
from tests.support.polling import polls

ANNA: Final = "anna"
BORIS: Final = "boris"
APPROVERS: Final = (ANNA, BORIS)
REASON: Final = "soaked for a week"


def by_login(config: Path, cluster: str, checkpoint: str, who: str = ANNA) -> None:
    """Approve in a terminal."""
    words = ("approve", checkpoint, "--who", who, "--reason", REASON, "--confirm", cluster)
    command = [sys.executable, "-m", "orchestrator", *words, "--config", str(config)]
    for _ in polls():
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
        if done.returncode != ExitCode.NO_DATA:  # a busy cluster's answer is late
            break
    assert done.returncode == ExitCode.DONE, done.stderr


def by_token(url: str, state: Path, cluster: str, checkpoint: str, who: str = BORIS) -> None:
    """Approve as the console's page does."""
    (token,) = state.glob("console-*.token")
    said = {"who": who, "reason": REASON, "checkpoint": checkpoint, "confirm": cluster}
    request = urllib.request.Request(  # noqa: S310  # our own address
        f"{url}/api/clusters/{cluster}/approve",
        data=json.dumps(said).encode(),
        headers={
            "Authorization": f"Bearer {token.read_text('ascii').strip()}",
            "Content-Type": "application/json",
        },
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=180) as answer:  # noqa: S310  # as above
        assert answer.status == 200
