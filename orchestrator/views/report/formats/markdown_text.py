"""The report as Markdown, for a ticket or a post-mortem; JSON and the page have more details."""

from collections.abc import Iterator

from orchestrator.api.report.execution import CheckpointAccount, WalkAccount
from orchestrator.api.report.report import ClusterReport, Report
from orchestrator.api.report.shape import Span
from orchestrator.views.report.formats.markdown_escape import fenced, plain, table
from orchestrator.views.report.times import clock, lasting, words


def markdown_text(report: Report) -> str:
    """Return the report as Markdown."""
    return "\n".join(_lines(report)).rstrip("\n") + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# Kraftgate report: {', '.join(plain(each.cluster) for each in report.clusters)}"
    yield ""
    audit = report.audit
    if audit is None:
        yield "**There is no audit trail.**"
    elif audit.intact:
        yield f"The audit trail is intact: {audit.entries} entries, head `{audit.head}`."
    else:
        yield f"**The audit trail is not as it was written: {plain(audit.why)}.** Its first"
        yield f"{audit.entries} entries are good, up to `{audit.head}`; the rest is not used here."
    yield ""
    for each in report.clusters:
        yield from _cluster(each)
    yield f"Written by kraftgate {report.kraftgate} from the state directory alone."


def _cluster(it: ClusterReport) -> Iterator[str]:
    yield from (f"## Cluster {plain(it.cluster)}", "")
    for each in it.attention:
        yield from (f"> **{plain(each)}**", "")
    for each in it.summary:
        yield from (plain(each), "")
    facts = [
        ("window", f"{_at(it.window.began_at)} to {_at(it.window.ended_at, 'now: it goes on')}"),
        ("as of", f"{_at(it.as_of)}; all times are UTC"),
        ("cluster id", it.cluster_id or "not known"),
        ("metadata.version", it.metadata_version or "not known"),
        *((f"runbook of walk {w.number}", f"sha256 {w.runbook_sha256}") for w in it.walks),
    ]
    yield from table(["", ""], facts)
    yield from _attempts(it)
    yield from ("### Phases", "")
    yield from table(
        ["phase", "attempt#", "metadata log#", "from", "to", "for#", "seen in"],
        (
            (p.phase, p.attempt, p.metadata_log, _at(p.began_at, "before"),
             _at(p.ended_at, "still"), _for(p), p.source)
            for p in it.phases
        ),
    )  # fmt: skip
    for walk in it.walks:
        yield from _walk(walk)
    yield from _decisions(it)
    yield from _brokers(it)
    yield from _stood(it)
    yield from _happened(it)


def _attempts(it: ClusterReport) -> Iterator[str]:
    if not it.attempts:
        return
    yield from ("### Attempts", "")
    yield from table(
        ["attempt#", "metadata log#", "from", "to", "for#", "outcome", "reached", "walks"],
        (
            (a.number, a.metadata_log, _at(a.began_at, "before"), _at(a.ended_at, "still"),
             _for(a), a.outcome, a.reached, ", ".join(map(str, a.walks)) or None)
            for a in it.attempts
        ),
    )  # fmt: skip


def _walk(walk: WalkAccount) -> Iterator[str]:
    yield from (f"### Walk {walk.number} through {plain(walk.runbook)}", "")
    ended = "it goes on" if walk.outcome is None else walk.outcome
    yield f"From {_at(walk.began_at)} to {_at(walk.ended_at, 'now')}: {ended}."
    yield ""
    for why in walk.waiting_for:
        yield f"- waiting for: {plain(why)}"
    yield ""
    yield from table(
        ["checkpoint", "what it is", "entered", "took#", "result", "let by", "held longest by"],
        (
            (
                each.id,
                each.title,
                _at(each.entered_at),
                lasting(each.duration_ms),
                each.result,
                ", ".join(each.by) or None,
                _longest(each),
            )
            for each in walk.checkpoints
        ),
    )
    for each in walk.checkpoints:
        for step in each.steps:
            if step.outcome in ("failed", "unknown"):
                yield f"`{each.id}`, attempt {step.attempt}: {plain(step.how)}."
                yield "" if step.decided is None else f"Decided: {plain(step.decided)}."
                yield ""
                yield from fenced(step.output) if step.output else ()
    for noticed in walk.unexpected:
        yield f"- unexpected at {_at(noticed.at)}: {plain(noticed.text)}"
    yield ""


def _longest(each: CheckpointAccount) -> str | None:
    if not each.holds:
        return None
    hold = each.holds[0]
    return f"{hold.what} ({lasting(hold.duration_ms)})"


def _decisions(it: ClusterReport) -> Iterator[str]:
    yield from ("### Who decided", "")
    if not it.decisions:
        yield from ("Nobody decided anything that the audit trail would have.", "")
        return
    yield from table(
        ["when", "walk#", "what", "checkpoint", "who", "why", "entry#"],
        (
            (
                _at(each.at),
                each.walk,
                words(each.kind),
                each.checkpoint,
                "Kraftgate" if each.who is None else f"{each.who} ({each.login}@{each.host})",
                each.reason,
                each.entry,
            )
            for each in it.decisions
        ),
    )


def _brokers(it: ClusterReport) -> Iterator[str]:
    yield from ("### Brokers", "")
    yield from table(
        ["broker#", "at the end", "registrations#", "held#", "fenced#", "unfenced early#",
         "assigned#"],
        (
            (
                each.id,
                each.mode + (", held" if each.held else "") + (", fenced" if each.fenced else ""),
                len(each.incarnations),
                lasting(each.held_ms),
                lasting(each.fenced_ms),
                lasting(each.exposed_ms),
                each.assigned,
            )
            for each in it.brokers
        ),
    )  # fmt: skip
    yield from table(
        ["broker#", "registered", "mode", "pending#", "held for#", "served early for#",
         "with pending#", "assigned#", "per second#"],
        (
            (
                broker.id,
                _at(each.registered_at, "not seen"),
                each.mode,
                each.pending,
                None if each.held is None else _for(each.held),
                "; ".join(_for(one) for one in each.exposed) or None,
                "; ".join(str(one.pending) for one in each.exposed) or None,
                None if each.assignments is None else each.assignments.assigned,
                None if each.assignments is None else each.assignments.rate_per_second,
            )
            for broker in it.brokers
            for each in broker.incarnations
            if each.mode == "kraft"
        ),
    )  # fmt: skip


def _stood(it: ClusterReport) -> Iterator[str]:
    yield from ("### Hazards", "")
    if it.hazards:
        yield from table(
            ["hazard", "severity", "forbade", "broker#", "from", "to", "for#", "what it was"],
            (
                (
                    each.hazard,
                    each.severity,
                    each.blocks,
                    each.broker,
                    _at(each.began_at, "not kept"),
                    _at(each.ended_at, "it stands"),
                    _for(each),
                    each.text,
                )
                for each in it.hazards
            ),
        )
    else:
        yield from ("No hazard stood.", "")
    if it.alerts:
        yield from ("### Alerts", "")
        yield from table(
            ["alert", "severity", "from", "to", "for#", "what it said"],
            (
                (a.name, a.severity, _at(a.began_at), _at(a.ended_at, "it stands"), _for(a), a.text)
                for a in it.alerts
            ),
        )
    yield from ("### Losses", "")
    if it.losses:
        yield from table(
            ["noticed", "partition", "offsets", "records#"],
            (
                (_at(a.at), f"{a.topic}-{a.partition}", f"{a.first_offset} to {a.last_offset}",
                 a.records)
                for a in it.losses
            ),
        )  # fmt: skip
    else:
        yield from ("No loss of acknowledged records was noticed.", "")
    yield from ("### What nobody saw", "")
    if it.unseen:
        yield from table(
            ["source", "node#", "from", "to", "for#", "why", "what may have been missed"],
            (
                (words(a.source), a.node, _at(a.began_at, "not known"), _at(a.ended_at, "still"),
                 _for(a), a.why, a.missed)
                for a in it.unseen
            ),
        )  # fmt: skip
    else:
        yield from ("Every source that was followed was seen all the time.", "")


def _happened(it: ClusterReport) -> Iterator[str]:
    yield from ("### What happened", "")
    yield from table(
        ["when", "where", "what"],
        ((_at(e.at, "not known"), e.lane, e.text) for e in it.happened if e.weight != "plain"),
    )


def _at(moment_ms: int | None, none: str = "-") -> str:
    return none if moment_ms is None else clock(moment_ms)


def _for(each: Span) -> str:
    if each.duration_ms is None:
        return "not known"
    return lasting(each.duration_ms) + (", still" if each.ended_at is None else "")
