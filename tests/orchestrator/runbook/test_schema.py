"""The published schema is that of the models: it takes what they take, and refuses what they do."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from migration.assessment.conditions import known, parse
from orchestrator.config.yaml_lines import read_yaml
from orchestrator.errors import RunbookError
from orchestrator.runbook.hooks_file import load_hooks
from orchestrator.runbook.load import load, shipped
from orchestrator.runbook.schema import hooks_schema, schema, schema_text
from tests.orchestrator.runbook import test_check, test_load
from tests.orchestrator.runbook.texts import RIGHT, changed

PUBLISHED = Path("runbooks/runbook.schema.json")
VALIDATOR = Draft202012Validator(schema())
CONDITION = Draft202012Validator({**schema(), "$ref": "#/$defs/Condition"})


def complaints(text: str) -> list[str]:
    return [error.json_path for error in VALIDATOR.iter_errors(read_yaml(text).data)]


def test_the_published_file_is_the_schema() -> None:
    fix = "run: kraftgate runbook schema > runbooks/runbook.schema.json"
    assert PUBLISHED.read_text("utf-8") == schema_text(), fix


HOOKS_PUBLISHED = Path("runbooks/hooks.schema.json")
HOOKS = Draft202012Validator(hooks_schema())
HOOKS_RIGHT: dict[str, Any] = {
    "hooks": 1,
    "explain": "x",
    "steps": {"enter-kraft": {"argv": ["./go", "{broker}"], "timeout": "90s"}},
}


def test_the_published_schema_of_hooks_is_that_of_the_model() -> None:
    fix = "run: kraftgate runbook schema --hooks > runbooks/hooks.schema.json"
    Draft202012Validator.check_schema(hooks_schema())
    assert HOOKS_PUBLISHED.read_text("utf-8") == schema_text(of_hooks=True), fix


@pytest.mark.parametrize("file", sorted(Path("runbooks/hooks").glob("*.yaml")))
def test_it_takes_the_bundled_hooks(file: Path) -> None:
    assert list(HOOKS.iter_errors(read_yaml(file.read_text("utf-8")).data)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"hooks": 2},
        {"explain": ""},
        {"more": 1},
        {"steps": {"Enter": {"argv": ["./go"]}}},
        {"steps": {"enter-kraft": {"argv": []}}},
        {"steps": {"enter-kraft": {"argv": "./go"}}},
        {"steps": {"enter-kraft": {"argv": ["./go"], "timeout": "soon"}}},
        {"steps": {"enter-kraft": {"argv": ["./go"], "check": ["./look"]}}},
        {"steps": {"enter-kraft": {"argv": ["./go"], "check": {"argv": []}}}},
        {"pass_env": ["A B"]},
    ],
)
def test_it_refuses_hooks_that_the_model_refuses(wrong: dict[str, Any], tmp_path: Path) -> None:
    given = {**HOOKS_RIGHT, **wrong}
    assert list(HOOKS.iter_errors(HOOKS_RIGHT)) == []
    assert list(HOOKS.iter_errors(given))
    file = tmp_path / "hooks.yaml"
    file.write_text(json.dumps(given), "utf-8")
    with pytest.raises(RunbookError):
        load_hooks(file, load("zk-to-kraft-jbod").runbook)


def test_it_is_a_schema_of_2020_12() -> None:
    Draft202012Validator.check_schema(json.loads(schema_text()))
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("name", sorted(shipped()))
def test_it_takes_the_shipped_runbooks(name: str) -> None:
    assert complaints(shipped()[name].read_text("utf-8")) == []


def test_it_takes_the_right_one() -> None:
    assert complaints(RIGHT) == []


@pytest.mark.parametrize(
    ("old", "new"), [(old, new) for old, new, _ in test_load.WRONG if "title: B" not in new]
)
def test_it_refuses_wrong_keys_and_values(old: str, new: str) -> None:
    assert complaints(changed(old, new))


ONE_CHECKPOINT_TELLS = (
    "unknown condition `quorum",
    "is no condition",
    "takes no argument",
    "needs 2 arguments",
    "does not take",
    "has neither `shell`",
    "has both",
    "has no condition",
    "neither a step nor a gate",
    "and has no approval",
    "`already` and no step",
    "the order `rack` needs",
)
"""What needs the whole file (ids, circles, phases, `broker` out of place) it cannot know."""


@pytest.mark.parametrize(
    "wrong",
    [
        one
        for one in (*test_check.CONDITIONS, *test_check.OWN, *test_check.SHAPE, *test_check.FINAL)
        if any(sign in one.said for sign in ONE_CHECKPOINT_TELLS)
    ],
    ids=lambda one: one.said,
)
def test_it_refuses_what_one_checkpoint_can_tell(wrong: test_check.Wrong) -> None:
    assert complaints(changed(wrong.old, wrong.new))


@pytest.mark.parametrize("doc", known(), ids=lambda doc: doc.name)
def test_a_condition_completes_from_its_own_doc(doc: Any) -> None:
    kinds = schema()["$defs"]["Condition"]["anyOf"]
    mine = next(kind for kind in kinds if kind["title"] == doc.signature)
    assert mine["description"] == doc.explains


GOOD = [
    "finalized", "phase( hybrid )", "isr_full", "isr_full(broker)", "isr_full( 3 )",
    "broker_mode(broker , kraft)", "no_hazard(restart)", "no_hazard(records_lost,broker)",
    "controller_mode(controller, kraft)", "soak(1h30m)", "soak(PT5M)", "metadata_version(3.7-IV2)",
    "log_dirs_registered(broker, 2)", "log_dirs_registered(broker, 1, 1)", "lag-is-low",
]  # fmt: skip
BAD = [
    "finalised_", "isr_full()(", "isr_full(x)", "broker_mode(broker)", "broker_mode(kraft, broker)",
    "soak", "soak(10 apples)", "no_hazard", "no_hazard(resart)", "quorum_healthy(3)", "Lag",
    "phase(hybird)",
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_conditions_are_taken_as_they_are_written(text: str) -> None:
    assert CONDITION.is_valid(text)
    parse(text, bind={"broker": "1", "controller": "1"}, own=["lag-is-low"])


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_condition_is_refused(text: str) -> None:
    assert not CONDITION.is_valid(text)


def test_every_key_is_described() -> None:
    assert list(_undescribed(schema()["$defs"])) == []


def _undescribed(definitions: dict[str, Any]) -> Iterator[str]:
    for name, definition in definitions.items():
        if not definition.get("description"):
            yield name
        for key, value in definition.get("properties", {}).items():
            if not value.get("description"):
                yield f"{name}.{key}"
