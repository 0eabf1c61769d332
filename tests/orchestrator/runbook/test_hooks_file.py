"""A file of hooks fits its runbook, or is refused with every problem and its line."""

from pathlib import Path

import click
import pytest

from orchestrator.cli.lab import lab
from orchestrator.errors import ExitCode, RunbookError
from orchestrator.runbook.hooks_file import Hooks, load_hooks
from orchestrator.runbook.load import load, parse, shipped
from orchestrator.runbook.places import everywhere
from tests.orchestrator.runbook.texts import PATH, RIGHT

HOOKS = Path("runbooks/hooks")
EXAMPLES = sorted(path.name for path in HOOKS.glob("*.yaml"))
VALUES = {
    "cluster": "prod",
    "phase": "hybrid",
    "brokers": "b1:9092,b2:9092",
    "controllers": "c1:9093,c2:9093",
    "zookeeper": "zk1:2181/kafka",
    "broker": "3",
    "controller": "3000",
    "host": "kafka3.example",
    "rack": "",
}
BOOK = parse(RIGHT, PATH).runbook
TEXT = """\
hooks: 1
explain: What they need.
env: {LANG: C}
secrets: [VAULT_TOKEN]
steps:
  enter-kraft:
    argv: ["{hooks}/do", "{host}", "{broker}", "{step}", "{{}}"]
    timeout: 90s
    env: {MODE: kraft}
  finalize: {argv: [finalize, "{controllers}"]}
"""


def hooks(tmp_path: Path, text: str = TEXT) -> Hooks:
    file = tmp_path / "hooks.yaml"
    file.write_text(text, "utf-8")
    return load_hooks(file, BOOK)


def test_a_step_has_its_command_with_everything_in_its_place(tmp_path: Path) -> None:
    found = hooks(tmp_path)
    assert found.argv("enter-kraft", VALUES) == [
        f"{tmp_path}/do",
        "kafka3.example",
        "3",
        "enter-kraft",
        "{}",
    ]
    command = found.command("enter-kraft")
    assert command is not None
    assert command.timeout.total_seconds() == 90
    assert found.environment("enter-kraft") == {"LANG": "C", "MODE": "kraft"}
    assert found.file.secrets == ("VAULT_TOKEN",)
    assert found.command("leave-kraft") is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  enter-kraft:", "  enter-craft:", "6: no step is called `enter-craft`; did you mean"),
        ("{host}", "{hst}", "7: unknown field {hst}; did you mean `host`?"),
        ('"{controllers}"', '"{broker}"', "10: {broker} exists only with `for_each: broker`"),
        ('"{controllers}"', '"{"', "10: unmatched brace"),
        ("timeout: 90s", "timeout: 90", "8: `steps.enter-kraft.timeout`: the duration 90 has no"),
        ("timeout: 90s", "time_out: 90s", "8: unknown key `time_out` in `steps.enter-kraft`; did"),
        ("env: {LANG: C}", "env: {LANG: 1}", "3: `env.LANG`: must be text, not int: put it in"),
        ("env: {LANG: C}", "env: {9: C}", "3: the key `9` must be text: put it in quotes"),
        ("[VAULT_TOKEN]", '["VAULT TOKEN"]', "4: `secrets[0]`: 'VAULT TOKEN' cannot name an"),
        ("secrets:", "pass_env: [A=B]\nsecrets:", "4: `pass_env[0]`: 'A=B' cannot name an"),
        (
            "    timeout: 90s",
            '    check: {argv: ["{hst}"]}',
            "8: unknown field {hst}; did you mean",
        ),
        ("    timeout: 90s", "    check: [ssh]", "8: `steps.enter-kraft.check`: must hold keys"),
        ("    timeout: 90s", "    check:", "8: `steps.enter-kraft.check`: is empty"),
        ("hooks: 1", "hooks: 2", "1: `hooks`: must be 1"),
        ("[finalize, ", "finalize #", "11: not YAML"),
    ],
)
def test_a_mistake_is_refused_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(RunbookError) as refused:
        hooks(tmp_path, TEXT.replace(old, new))
    (problem,) = refused.value.problems
    assert problem.startswith(f"{tmp_path}/hooks.yaml:{said}")
    assert refused.value.code is ExitCode.USAGE


def test_a_variable_that_a_command_is_to_get_must_be_set(tmp_path: Path) -> None:
    text = TEXT.replace("secrets:", "pass_env: [SSH_AUTH_SOCK]\nsecrets:")
    text = text.replace("    timeout: 90s", "    timeout: 90s\n    pass_env: [VAULT_ADDR]")
    found = hooks(tmp_path, text)
    own = {"SSH_AUTH_SOCK": "/run/agent", "VAULT_ADDR": "http://vault", "OTHER": "x"}
    assert found.passed("enter-kraft", own) == ("SSH_AUTH_SOCK", "VAULT_ADDR")
    assert found.passed("finalize", own) == ("SSH_AUTH_SOCK",)
    found.check_passed(own)
    with pytest.raises(RunbookError) as refused:
        found.check_passed({"SSH_AUTH_SOCK": ""})
    (problem,) = refused.value.problems
    assert problem == (
        f"{tmp_path}/hooks.yaml:10: `pass_env` names VAULT_ADDR, which is not set where kraftgate"
        " runs: set it there, or remove the name"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [("host", "--what=x"), ("host", "k1; reboot"), ("host", "$(reboot)")],
)
def test_what_is_harmful_does_not_get_into_a_command(
    tmp_path: Path, field: str, value: str
) -> None:
    with pytest.raises(RunbookError, match="is not safe in a command"):
        hooks(tmp_path).argv("enter-kraft", {**VALUES, field: value})


@pytest.mark.parametrize(
    ("field", "value"), [("host", "-F"), ("cluster_id", "-4_lEiQYQs-boVSaKFufIw")]
)
def test_a_value_with_a_dash_does_not_become_an_option(
    tmp_path: Path, field: str, value: str
) -> None:
    def argv(word: str) -> list[str]:
        text = TEXT.replace("{host}", word)
        return hooks(tmp_path, text).argv("enter-kraft", {**VALUES, field: value})

    with pytest.raises(RunbookError, match=r"hooks.yaml:7: .* takes for an option: put it behind"):
        argv(f"{{{field}}}")
    assert argv(f"--from={{{field}}}")[1] == f"--from={value}"


def test_what_is_not_known_does_not_get_into_a_command(tmp_path: Path) -> None:
    known = {name: value for name, value in VALUES.items() if name != "controllers"}
    with pytest.raises(RunbookError, match=r"hooks.yaml:10: \{controllers\} is unknown"):
        hooks(tmp_path).argv("finalize", known)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_do_every_step_of_the_migration(name: str) -> None:
    book = load("zk-to-kraft-jbod").runbook
    example = load_hooks(HOOKS / name, book)
    by_hand = {"decommission-zookeeper"}
    for place in everywhere(book):
        step = place.checkpoint.step
        if step is None or (example.command(step.name) is None and step.name in by_hand):
            continue
        argv, check = example.argv(step.name, VALUES), example.check_argv(step.name, VALUES)
        assert all(argv)
        assert check, "each step of an example has a check"
        for words in (argv, check):
            if "/" in words[0]:
                assert Path(words[0]).is_file()


@pytest.mark.parametrize("name", ["systemd-ssh.yaml", "ansible.yaml"])
def test_the_check_of_an_example_is_its_command_with_the_word_check(name: str) -> None:
    example = load_hooks(HOOKS / name, load("zk-to-kraft-jbod").runbook)
    for step in example.file.steps:
        words = " ".join(example.check_argv(step, VALUES)).split(" ")
        assert words.count("check") + words.count("command='check") == 1
        without = [word.replace("command='check", "command='") for word in words if word != "check"]
        command = " ".join(example.argv(step, VALUES))
        assert " ".join(without).replace("command=' ", "command='") == command


def test_the_labs_hooks_are_commands_of_the_lab() -> None:
    book = load("zk-to-kraft-jbod").runbook
    example = load_hooks(HOOKS / "lab.yaml", book)
    for step in example.file.steps:
        for argv in (example.argv(step, VALUES), example.check_argv(step, VALUES)):
            program, group, name, *arguments = argv
            assert (program, group) == ("kraftgate", "lab")
            command = lab.get_command(click.Context(lab), name)
            assert command is not None
            command.make_context(name, [*arguments])


def test_all_runbooks_call_a_step_by_one_name_for_one_thing() -> None:
    kinds: dict[str, set[str | None]] = {}
    for name in shipped():
        book = load(name).runbook
        for place in everywhere(book):
            if place.checkpoint.step is not None:
                each = kinds.setdefault(place.checkpoint.step.name, set())
                each.add(place.checkpoint.for_each)
    assert {step: each for step, each in kinds.items() if len(each) > 1} == {}
