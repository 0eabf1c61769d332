"""The brokers' availability, and Kraftgate's authorization to request their data."""

from typing import Final

from migration.assessment.checks.check import (
    REACH_BROKERS,
    check,
    listed,
    missing_data,
    no_brokers,
    unknowns,
)
from migration.assessment.finding import Finding, satisfied
from migration.observed.probed import Broker, Facts, Topics, Unknown


@check("brokers-reachable", "Every broker answers")
def brokers_reachable(facts: Facts) -> Finding:
    """Check that each known broker answers on its listener."""
    if isinstance(facts.topics, Unknown):
        return missing_data(facts.topics.why, fix=REACH_BROKERS)
    silent = unknowns((f"broker {broker.id}", broker.release) for broker in facts.brokers)
    if silent:
        return missing_data(
            *silent,
            fix="start the broker, and check that its listener can be reached from here. The"
            " replicas of a broker that does not answer are unknown, so its restart may be"
            " unsafe",
        )
    return satisfied(f"brokers {listed(broker.id for broker in facts.brokers)} answer")


@check("broker-rights", "The brokers return all requested data", needs=no_brokers)
def broker_rights(facts: Facts) -> Finding:
    """Check that each broker that answers also returns the requested data."""
    refused = [line for broker in facts.brokers for line in _refusals(broker)]
    if isinstance(facts.topics, Topics):
        asked = (facts.topics.min_isr, facts.topics.reassignments)
        refused.extend(what.why for what in asked if isinstance(what, Unknown))
    if refused:
        return missing_data(
            *refused,
            fix="grant the principal DESCRIBE and DESCRIBE_CONFIGS on CLUSTER, and on all topics"
            " (kafka-acls --add --allow-principal User:NAME --operation Describe --cluster)",
        )
    return satisfied("the brokers return all requested data")


def _refusals(broker: Broker) -> list[str]:
    if isinstance(broker.release, Unknown):
        return []  # it does not answer: `brokers_reachable` reports that
    return unknowns((f"broker {broker.id}", each) for each in (broker.settings, broker.log_dirs))


CHECKS: Final = (brokers_reachable, broker_rights)
