"""The check of the hooks: real programs, a plan of a cluster, and nothing of a hook is run."""

from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.errors import SecretUnknown
from orchestrator.hooks.check import CheckedHook, Verdict, check_hooks
from orchestrator.runbook.cluster_facts import ClusterFacts
from orchestrator.runbook.hooks_file import Hooks, load_hooks
from orchestrator.runbook.instance_order import Leaders, Member
from orchestrator.runbook.load import load
from orchestrator.runbook.plan import plan
from tests.orchestrator.execution.running import nothing_left_behind

BOOK = load("zk-to-kraft-jbod")
FACTS = ClusterFacts(
    cluster="prod",
    brokers=(Member(id=1, host="k1"), Member(id=2)),
    controllers=(),
    leaders=Leaders(),
    addresses={"controllers": "c1:9093", "zookeeper": "zk:2181"},
)
TEXT = """\
hooks: 1
explain: Nothing.
env: {FILE_SAYS: "1"}
pass_env: [SET]
secrets: [SET]
steps:
"""


def checked(folder: Path, steps: str, facts: ClusterFacts = FACTS) -> dict[str, CheckedHook]:
    hooks = hooks_of(folder, steps)
    return {each.id: each for each in check_hooks("prod", hooks, plan(BOOK, facts, hooks))}


def hooks_of(folder: Path, steps: str) -> Hooks:
    file = folder / "hooks.yaml"
    file.write_text(TEXT + steps, "utf-8")
    return load_hooks(file, BOOK.runbook)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SET", "hush-hush-123")
    monkeypatch.setenv("NOT_PASSED", "1")


def test_each_instance_has_its_command_and_what_it_gets(tmp_path: Path) -> None:
    """Broker 2 is down, so its host is unknown; no controller exists yet."""
    found = checked(
        tmp_path,
        '  enter-kraft: {argv: [touch, "{hooks}/{host} {broker}"], timeout: 90s}\n'
        '  finalize: {argv: [touch, "{host}"]}\n',
    )
    assert list(found) == ["brokers-kraft[1]", "brokers-kraft[2]", "finalize[each controller]"]
    first, second, last = found.values()
    assert first.argv == ("touch", f"{tmp_path}/k1 1")
    assert (first.verdict, first.timeout) == (Verdict.OK, timedelta(seconds=90))
    own = {"FILE_SAYS", "SET", "KRAFTGATE_BROKER", "KRAFTGATE_CHECKPOINT", "KRAFTGATE_CLUSTER",
           "KRAFTGATE_FENCE", "KRAFTGATE_RUN"}  # fmt: skip
    assert own | {"PATH"} <= set(first.environment)
    assert "NOT_PASSED" not in first.environment
    assert second.verdict is Verdict.FAILED
    assert "{host} is unknown for this cluster now" in second.problem
    assert (last.verdict, last.argv) == (Verdict.LATER, ("touch", "{host}"))
    assert "which controllers there are is not known yet" in last.problem
    assert [each.name for each in tmp_path.iterdir()] == ["hooks.yaml"], "no hook was run"


def test_a_check_gets_what_the_step_gets(tmp_path: Path) -> None:
    """Apart from the run's name and its fence, which no run has."""
    script = tmp_path / "look"
    script.write_text(
        '#!/bin/sh\necho "$1 $KRAFTGATE_CHECKPOINT $KRAFTGATE_BROKER $FILE_SAYS $SET"\n'
        'echo "$KRAFTGATE_RUN $KRAFTGATE_FENCE"\nexit 3\n'
    )
    script.chmod(0o755)
    one = checked(
        tmp_path,
        '  enter-kraft: {argv: ["{hooks}/look"], check: {argv: ["{hooks}/look", "{host}"]}}\n',
    )["brokers-kraft[1]"]
    assert one.check == (str(script), "k1")
    assert (one.verdict, one.problem) == (Verdict.FAILED, "its check ended with exit code 3")
    shown, run = one.output
    assert shown.startswith("k1 brokers-kraft[1] 1 1 ")
    assert "hush-hush" not in shown
    assert run == "check 0"


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ('["true"]', ""),
        ('["false"]', "its check ended with exit code 1"),
        ("[sh, -c, kill -9 $$]", "its check was ended by signal 9"),
        ('[sleep, "600"], timeout: 100ms', "its check did not end within 100ms"),
        ("[no-such-program]", "its check: no-such-program is not in the PATH"),
    ],
)
def test_how_a_check_ends_is_said_and_nothing_of_it_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: str, said: str
) -> None:
    monkeypatch.setenv("LC_TEST_OF", str(tmp_path))
    with nothing_left_behind(tmp_path):
        (one,) = checked(
            tmp_path, f'  provision-controllers: {{argv: ["true"], check: {{argv: {check}}}}}\n'
        ).values()
    assert one.problem.startswith(said)
    assert one.verdict is (Verdict.FAILED if said else Verdict.OK)


def test_a_program_must_be_there_and_executable(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    found = checked(
        tmp_path,
        '  provision-controllers: {argv: ["{hooks}/none"]}\n'
        '  decommission-zookeeper: {argv: ["{hooks}/plain"]}\n'
        "  delete-znodes: {argv: [no-such-program]}\n"
        "  deprovision-controllers: {argv: [sh]}\n",
    )
    problems = {each.step: each.problem.replace(f"{tmp_path}/", "") for each in found.values()}
    assert problems.pop("delete-znodes").startswith("no-such-program is not in the PATH /")
    assert problems == {
        "provision-controllers": "none does not exist",
        "decommission-zookeeper": "plain is not executable",
        "deprovision-controllers": "",
    }


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"#!/bin/sh\n", ""),
        (b"#! /usr/bin/env sh\n", ""),
        (b"#!/bin/sh\r\nexit 0\r\n", "ends with CR: convert the file's line ends to LF"),
        (b"#!/no/such/sh -e\n", "needs /no/such/sh, which cannot be started"),
        (b"#!\n", "needs an interpreter, which cannot be started"),
        (b"#!/bin\n", "needs /bin, which cannot be started"),
        (b"exit 0\n", "has no `#!` line, such as #!/bin/sh"),
        (b"", "has no `#!` line, such as #!/bin/sh"),
    ],
)
def test_a_script_needs_an_interpreter(tmp_path: Path, content: bytes, problem: str) -> None:
    script = tmp_path / "script"
    script.write_bytes(content)
    script.chmod(0o755)
    step = '  provision-controllers: {argv: ["{hooks}/script"]}\n'
    (one,) = checked(tmp_path, step).values()
    assert one.problem.endswith(problem)
    assert bool(one.problem) is bool(problem)


def test_a_directory_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "script").mkdir()
    step = '  provision-controllers: {argv: ["{hooks}/script"]}\n'
    (one,) = checked(tmp_path, step).values()
    assert one.problem == f"{tmp_path}/script is a directory"


def test_the_path_is_that_of_the_command(tmp_path: Path) -> None:
    script = tmp_path / "only-here"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    step = "  provision-controllers: {argv: [only-here], env: {PATH: %s}}\n"
    (one,) = checked(tmp_path, step % tmp_path).values()
    assert one.verdict is Verdict.OK
    (one,) = checked(tmp_path, step % "/nowhere").values()
    assert one.problem == "only-here is not in the PATH /nowhere"


def test_a_secret_that_is_not_set_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "hooks.yaml"
    text = TEXT.replace("secrets: [SET]", "secrets: [NOT_SET]")
    file.write_text(text + '  provision-controllers: {argv: ["true"]}\n', "utf-8")
    hooks = load_hooks(file, BOOK.runbook)
    with pytest.raises(SecretUnknown, match="NOT_SET is named as a secret and is not set"):
        check_hooks("prod", hooks, plan(BOOK, FACTS, hooks))


def test_a_command_that_cannot_be_made_shows_no_secret_either(tmp_path: Path) -> None:
    found = checked(
        tmp_path,
        '  enter-kraft: {argv: [touch, "{host}", hush-hush-123]}\n'
        '  finalize: {argv: [touch, "{host}", hush-hush-123]}\n',
    )
    verdicts = {each.verdict for each in found.values()}
    assert verdicts >= {Verdict.FAILED, Verdict.LATER}
    assert all(each.argv[0] == "touch" for each in found.values())
    assert not [each for each in found.values() if "hush-hush-123" in each.argv]
