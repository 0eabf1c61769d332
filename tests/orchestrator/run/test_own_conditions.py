"""The users' own conditions: real commands, a real Prometheus, and servers that are none."""

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from migration.assessment.conditions import Finding, Verdict
from orchestrator.run.probes.probes import ask_own, own_polls
from orchestrator.runbook.model import OwnCondition, PromqlCondition, ShellCondition
from tests.streams.jmx.server import serving, text
from tests.support.polling import until
from tests.support.prometheus import running


def shell(*argv: str, timeout: str = "30s") -> Finding:
    command = ShellCondition.model_validate({"argv": argv, "timeout": timeout})
    return ask_own(OwnCondition(name="mine", shell=command), "prod")


def sh(script: str, timeout: str = "30s") -> Finding:
    return shell("/bin/sh", "-c", script, timeout=timeout)


class TestCommands:
    @pytest.mark.parametrize(
        ("code", "verdict"),
        [
            (0, Verdict.SATISFIED),
            (1, Verdict.WAITING),
            (2, Verdict.VIOLATED),
            (3, Verdict.UNKNOWN),
            (127, Verdict.UNKNOWN),
        ],
    )
    def test_the_exit_code_is_the_verdict(self, code: int, verdict: Verdict) -> None:
        found = sh(f"exit {code}")
        assert (found.condition, found.verdict) == ("mine", verdict)
        assert (found.reason, found.evidence) == (
            f"/bin/sh: exit code {code}",
            (f"exit code {code}",),
        )

    def test_the_last_line_that_it_prints_is_the_reason(self) -> None:
        found = sh("echo first; echo 'lag is \033[1m4000' >&2; echo; exit 1")
        assert (found.verdict, found.reason) == (Verdict.WAITING, "lag is [1m4000")

    def test_it_gets_no_more_of_the_environment_than_is_listed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KAFKA_PASSWORD", "hush")
        monkeypatch.setenv("LAG_URL", "http://lag")
        script = 'echo "$KRAFTGATE_CLUSTER $LAG_URL ${KAFKA_PASSWORD-none}"'
        command = ShellCondition.model_validate(
            {"argv": ["/bin/sh", "-c", script], "pass_env": ["LAG_URL"]}
        )
        found = ask_own(OwnCondition(name="mine", shell=command), "prod")
        assert (found.verdict, found.reason) == (Verdict.SATISFIED, "prod http://lag none")

    def test_a_secret_that_it_prints_is_redacted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LAG_TOKEN", "hush-hush-123")
        command = ShellCondition.model_validate(
            {"argv": ["/bin/sh", "-c", "echo no lag of $LAG_TOKEN"], "pass_env": ["LAG_TOKEN"]}
        )
        found = ask_own(OwnCondition(name="mine", shell=command), "prod")
        assert found.verdict is Verdict.SATISFIED
        assert found.reason.startswith("no lag of ")
        assert "hush" not in found.reason

    def test_without_a_variable_that_it_needs_it_is_unknown(self) -> None:
        command = ShellCondition.model_validate({"argv": ["true"], "pass_env": ["ABSENT"]})
        found = ask_own(OwnCondition(name="mine", shell=command), "prod")
        assert found.verdict is Verdict.UNKNOWN
        assert "`pass_env` names ABSENT, which is not set" in found.reason

    def test_no_shell_is_involved_and_nothing_is_on_its_input(self) -> None:
        program = "import sys; print(sys.argv[1:], sys.stdin.read())"
        found = shell(sys.executable, "-c", program, "$HOME; exit 1", "{broker}")
        assert (found.verdict, found.reason) == (
            Verdict.SATISFIED,
            "['$HOME; exit 1', '{broker}']",
        )

    def test_it_is_told_which_cluster_it_is_asked_about(self) -> None:
        assert sh("echo $KRAFTGATE_CLUSTER").reason == "prod"

    def test_what_does_not_end_in_time_is_unknown_and_is_ended(self, tmp_path: Path) -> None:
        pids = tmp_path / "pids"
        # It does not mind SIGTERM, and neither does its child.
        script = f"trap '' TERM; sleep 600 & echo $! $$ > {pids}; wait; wait"
        found = sh(script, timeout="3s")
        assert found.verdict is Verdict.UNKNOWN
        assert found.reason == "/bin/sh did not end within 3s"
        for each in pids.read_text().split():
            wait_gone(int(each))

    def test_what_it_leaves_in_its_group_is_ended(self, tmp_path: Path) -> None:
        pid = tmp_path / "pid"
        found = sh(f"sleep 600 & echo $! > {pid}; echo done")
        assert (found.verdict, found.reason) == (Verdict.SATISFIED, "done")
        wait_gone(int(pid.read_text()))

    def test_a_program_that_is_not_there_is_unknown(self) -> None:
        found = shell("/no/such/program")
        assert (found.verdict, found.reason) == (
            Verdict.UNKNOWN,
            "/no/such/program cannot be started: No such file or directory",
        )

    def test_a_command_that_a_signal_ends_is_unknown(self) -> None:
        found = sh("kill -KILL $$")
        assert (found.verdict, found.reason) == (
            Verdict.UNKNOWN,
            f"/bin/sh: ended by signal {int(signal.SIGKILL)}",
        )

    def test_output_without_end_is_not_kept(self) -> None:
        found = sh("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo the end")
        assert (found.verdict, found.reason) == (Verdict.SATISFIED, "the end")

    def test_nothing_of_it_stays_open(self) -> None:
        before = open_files()
        for _ in range(3):
            sh("echo hello")
            shell("/no/such/program")
        # A thread that an earlier test left may be starting a process.
        until(lambda: open_files() <= before, "the same files to be open", open_files)


def open_files() -> set[tuple[str, Path]]:
    """Descriptors with their files: those of earlier tests may be closed at any time."""
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the directory's own
            found.add((each.name, each.readlink()))
    return found


def wait_gone(pid: int) -> None:
    """A process that was killed is gone a moment later."""
    deadline_s = time.monotonic() + 120
    while _runs(pid):
        assert time.monotonic() < deadline_s, pid
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def promql(url: str, query: str, timeout: str = "10s") -> Finding:
    asked = PromqlCondition.model_validate({"url": url, "query": query, "timeout": timeout})
    return ask_own(OwnCondition(name="mine", promql=asked), "prod")


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("prometheus")) as url:
        yield url


@pytest.mark.prometheus
class TestPrometheus:
    @pytest.mark.parametrize(
        ("query", "verdict", "reason"),
        [
            ("vector(1)", Verdict.SATISFIED, "none of 1 values is zero"),
            ("vector(-0.5)", Verdict.SATISFIED, "none of 1 values is zero"),
            ("vector(1) / 0", Verdict.SATISFIED, "none of 1 values is zero"),
            ("vector(0)", Verdict.WAITING, "1 of 1 values are zero"),
            ("kafka_lag", Verdict.WAITING, "the query returns no value"),
            ("vector(0) > bool 1", Verdict.WAITING, "1 of 1 values are zero"),
            ("vector(2) > 1", Verdict.SATISFIED, "none of 1 values is zero"),
            ("vector(0) / 0", Verdict.UNKNOWN, "1 of 1 values are not numbers"),
            ("3 > bool 2", Verdict.SATISFIED, "none of 1 values is zero"),
            ("0", Verdict.WAITING, "1 of 1 values are zero"),
        ],
    )
    def test_its_answer_is_the_verdict(
        self, prometheus: str, query: str, verdict: Verdict, reason: str
    ) -> None:
        found = promql(f"{prometheus}/", query)
        assert (found.condition, found.verdict, found.reason) == ("mine", verdict, reason)

    def test_all_values_count_and_some_are_shown_with_their_labels(self, prometheus: str) -> None:
        label = 'label_replace(vector({}), "topic", "{}", "", "")'
        found = promql(prometheus, f"{label.format(0, 'orders')} or {label.format(7, 'single')}")
        assert (found.verdict, found.reason) == (Verdict.WAITING, "1 of 2 values are zero")
        assert set(found.evidence) == {"{topic=orders} 0", "{topic=single} 7"}

    @pytest.mark.parametrize("query", ['"text"', "vector(1)[5m:1m]"])
    def test_what_is_no_number_is_unknown(self, prometheus: str, query: str) -> None:
        found = promql(prometheus, query)
        assert found.verdict is Verdict.UNKNOWN
        assert found.reason.startswith("the answer is neither a vector nor a scalar")

    def test_a_query_that_it_refuses_is_unknown(self, prometheus: str) -> None:
        found = promql(prometheus, "rate(")
        assert found.verdict is Verdict.UNKNOWN
        assert "parse error" in found.reason


class TestNoPrometheus:
    """What a real one does not do; so these servers are ours."""

    def test_nobody_there_is_unknown(self) -> None:
        found = promql("http://127.0.0.1:1", "vector(1)")
        assert found.verdict is Verdict.UNKNOWN
        assert "127.0.0.1:1" in found.reason

    @pytest.mark.parametrize(
        "body",
        [
            "hello",
            "{}",
            json.dumps({"status": "success", "data": []}),
            json.dumps({"status": "success", "data": {"resultType": "vector"}}),
            json.dumps({"status": "success", "data": {"resultType": "vector", "result": [1]}}),
        ],
    )
    def test_another_answer_is_unknown(self, body: str) -> None:
        with serving(text(body)) as url:
            assert promql(url, "vector(1)").verdict is Verdict.UNKNOWN

    def test_a_value_that_is_no_number_is_unknown(self) -> None:
        sample = {"metric": {}, "value": [1.0, "many"]}
        data = {"resultType": "vector", "result": [sample]}
        with serving(text(json.dumps({"status": "success", "data": data}))) as url:
            assert promql(url, "vector(1)").verdict is Verdict.UNKNOWN

    def test_an_error_of_the_server_is_unknown(self) -> None:
        with serving(text("no", status=503)) as url:
            assert promql(url, "vector(1)").verdict is Verdict.UNKNOWN


def test_each_is_asked_by_its_name() -> None:
    own = OwnCondition(
        name="mine", shell=ShellCondition(argv=("/bin/true",), timeout=timedelta(seconds=30))
    )
    asked = own_polls([own], "prod")
    assert asked["mine"]().verdict is Verdict.SATISFIED
