"""Formats a runbook as a Markdown page for operators."""

from collections.abc import Iterator, Mapping
from typing import Final

from migration.assessment.conditions import call_of, known
from migration.image.summary import Phase
from migration.values.durations import format_duration
from orchestrator.runbook.instance_order import rules_of
from orchestrator.runbook.model import (
    NO_ROLLBACK,
    Checkpoint,
    ForwardCheckpoint,
    OwnCondition,
    Runbook,
)
from orchestrator.runbook.places import Place, everywhere, forward, in_turn
from orchestrator.runbook.templates import readable, render

_RULES: Final = {
    "rack": "rack by rack",
    "zookeeper_controller_last": "ZooKeeper's controller last",
    "active_controller_last": "the active controller last",
}


def page(runbook: Runbook, values: Mapping[str, str] | None = None) -> str:
    """Return the whole page; `values`: the known values of the fields of the steps' texts."""
    return "\n".join(_lines(runbook, values or {})).rstrip() + "\n"


def _lines(runbook: Runbook, values: Mapping[str, str]) -> Iterator[str]:
    words = _words_of(runbook)
    places = in_turn(forward(runbook))
    yield from (f"# {runbook.title}", "", runbook.explain.strip(), "")
    yield from ("## Checkpoints", "")
    for number, place in enumerate(places, 1):
        checkpoint = place.checkpoint
        each = f", for each {checkpoint.for_each}" if checkpoint.for_each else ""
        yield f"{number}. {checkpoint.title} (`{checkpoint.id}`{each})"
    yield ""
    for number, place in enumerate(places, 1):
        yield from (f"## {number}. {place.checkpoint.title}", "")
        above = places[number - 2].checkpoint.id if number > 1 else None
        yield from _before(place, above)
        yield from _checkpoint(place.checkpoint, words, values)
    yield from _rollbacks(runbook, words, values)
    yield from _glossary(runbook)


def _before(place: Place, above: str | None) -> Iterator[str]:
    if place.before != (() if above is None else (above,)):
        names = ", ".join(f"`{id_}`" for id_ in place.before) or "nothing"
        yield from (f"It follows {names}.", "")


def _checkpoint(
    checkpoint: Checkpoint, words: Mapping[str, str], values: Mapping[str, str]
) -> Iterator[str]:
    yield from (checkpoint.explain.strip(), "")
    if checkpoint.irreversible:
        yield from ("**No rollback is possible once it has begun.**", "")
    if checkpoint.destructive:
        yield from ("**It destroys data, or the storage of data.**", "")
    if checkpoint.for_each is not None:
        rules = [_RULES[rule] for rule in rules_of(checkpoint)]
        order = ", ".join((*rules, "by id"))
        yield from (f"Done for each {checkpoint.for_each}, one at a time: {order}.", "")
    if checkpoint.already:
        yield from (
            f"The step is skipped where all of these hold: {_named(checkpoint.already)}.",
            "",
        )
    if checkpoint.needs:
        yield from (f"Before the step all of these must hold: {_named(checkpoint.needs)}.", "")
    yield from _approval(checkpoint)
    if checkpoint.step is not None:
        yield from (f"### What to do (step `{checkpoint.step.name}`)", "")
        shown = readable(values, checkpoint.for_each)
        yield from (render(checkpoint.step.manual, shown).strip(), "")
    yield from ("The gate opens when all of these hold:", "")
    for text in checkpoint.opens_when:
        call = call_of(text)
        said = words.get("" if call is None else call.name)
        yield f"- `{text}`" + (f": {said}" if said else "")
    yield ""
    if isinstance(checkpoint, ForwardCheckpoint):
        yield from _rollback(checkpoint)


def _approval(checkpoint: Checkpoint) -> Iterator[str]:
    approval = checkpoint.approval
    if approval is None:
        return
    if approval.given_at is not None:
        yield from (f"The approval of `{approval.given_at}` covers it.", "")
        return
    who = "One person approves it**"
    if approval.people > 1:
        who = f"{approval.people} people approve it**, each"
    id_ = checkpoint.id if checkpoint.for_each is None else f"'{checkpoint.id}[ID]'"
    confirm = " --confirm CLUSTER" if checkpoint.cannot_be_undone else ""
    command = f'kraftgate approve {id_} --reason "..."{confirm}'
    once = "" if checkpoint.for_each is None else f" Once, for every {checkpoint.for_each}."
    yield from (f"**{who} with `{command}`.{once}", "")


def _named(texts: tuple[str, ...]) -> str:
    return ", ".join(f"`{text}`" for text in texts)


def _words_of(runbook: Runbook) -> dict[str, str]:
    words = {each.name: each.explains for each in known()}
    words.update((str(phase), f"The migration has reached {phase}.") for phase in Phase)
    words.update((own.name, own.explain.strip()) for own in runbook.conditions if own.explain)
    return words


def _rollback(checkpoint: ForwardCheckpoint) -> Iterator[str]:
    if checkpoint.rollback is None:
        return
    if checkpoint.rollback == NO_ROLLBACK:
        yield from (f"No rollback is needed: {(checkpoint.rollback_reason or '').strip()}", "")
        return
    until = " until its step has begun" if checkpoint.irreversible else ""
    name = checkpoint.rollback
    yield from (f"The rollback from here{until}: [`{name}`](#back-{name}).", "")


def _rollbacks(
    runbook: Runbook, words: Mapping[str, str], values: Mapping[str, str]
) -> Iterator[str]:
    for way in runbook.rollbacks:
        yield from (f'<a id="back-{way.id}"></a>', "", f"## Rollback: {way.title} (`{way.id}`)", "")
        yield from (way.explain.strip(), "")
        for number, checkpoint in enumerate(way.checkpoints, 1):
            yield from (f"### {number}. {checkpoint.title} (`{checkpoint.id}`)", "")
            lines = _checkpoint(checkpoint, words, values)
            yield from (line.replace("### ", "#### ", 1) for line in lines)
        if way.then is not None:
            yield from (f"The rollback [`{way.then}`](#back-{way.then}) follows.", "")


def _glossary(runbook: Runbook) -> Iterator[str]:
    """Yield the meaning of each condition on the page, and the sources that it needs."""
    calls = {
        call.name
        for place in everywhere(runbook)
        for texts in (place.checkpoint.already, place.checkpoint.needs, place.checkpoint.opens_when)
        for text in texts
        if (call := call_of(text)) is not None
    }
    yield from ("## The conditions", "")
    yield "Only `satisfied` opens a gate. Stale or missing data is `unknown` and keeps it closed."
    yield ""
    for each in known():
        if each.name in calls:
            sources = ", ".join(sorted(str(source).replace("_", " ") for source in each.sources))
            seen = f" Seen in: {sources}." if sources else ""
            yield f"- `{each.signature}`: {each.explains}{seen}"
    for own in runbook.conditions:
        yield f"- `{own.name}`: {_own(own)}"


def _own(own: OwnCondition) -> str:
    said = f"{own.explain.strip()} " if own.explain else ""
    if own.shell is not None:
        timeout = format_duration(own.shell.timeout)
        return f"{said}Kraftgate runs `{' '.join(own.shell.argv)}`, for {timeout} at most."
    if own.promql is not None:
        return f"{said}Kraftgate queries {own.promql.url}: `{own.promql.query}`."
    return said
