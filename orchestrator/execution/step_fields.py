"""The values of the fields in a step's text and command, such as the broker and its host."""

from collections.abc import Mapping
from typing import Final

from migration.image.summary import ClusterSummary
from orchestrator.config.models import ClusterEntry
from orchestrator.output.visible import visible_line
from orchestrator.runbook.cluster_facts import addresses_of
from orchestrator.runbook.templates import fields_for

_UNKNOWN: Final = "(not known)"


class Fields:
    """The values of the fields that `orchestrator.runbook.templates` allows, for one cluster."""

    def __init__(self, entry: ClusterEntry) -> None:
        self._always = {"cluster": entry.name, **addresses_of(entry)}

    def of(self, bind: Mapping[str, str], summary: ClusterSummary) -> dict[str, str]:
        """Return the known values for one stop; the rack of a broker without a rack is ""."""
        fields = {**self._always, "phase": str(summary.phase), **bind}
        if "broker" in bind:
            broker = next((b for b in summary.brokers if b.id == int(bind["broker"])), None)
            found = {} if broker is None else {"host": broker.host, "rack": broker.rack}
        elif "controller" in bind:
            known = summary.controllers or ()
            one = next((c for c in known if c.id == int(bind["controller"])), None)
            found = {} if one is None else {"host": one.host}
        else:
            found = {}
        if "rack" in found:
            fields["rack"] = found["rack"] or ""
        return fields | {name: value for name, value in found.items() if value}


def shown(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the values for a text that an operator reads, with a placeholder for unknown ones."""
    kind = next((each for each in ("broker", "controller") if each in fields), None)
    names = fields_for(kind)  # type: ignore[arg-type]  # these are its two values
    return {name: visible_line(fields.get(name, _UNKNOWN)) for name in names}
