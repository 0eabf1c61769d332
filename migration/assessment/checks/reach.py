"""The brokers' availability, and Kraftgate's authorization to request their data."""

from migration.assessment.checks.check import (
    REACH_BROKERS,
    SEE_BROKERS,
    check,
    listed,
    missing_data,
    no_brokers,
    unknowns,
)
from migration.assessment.finding import Finding, satisfied
from migration.observed.probed import Facts, Topics, Unknown


@check("brokers-reachable", "Every broker answers")
def brokers_reachable(facts: Facts) -> Finding:
    """Check that each known broker answers on its listener, and answers each request."""
    if (missing := no_brokers(facts, REACH_BROKERS)) is not None:
        return missing
    silent = unknowns((f"broker {broker.id}", broker.release) for broker in facts.brokers)
    if silent:
        return missing_data(
            *silent,
            fix="start the broker, and check that its listener can be reached from here. The"
            " replicas of a broker that does not answer are unknown, so its restart may be"
            " unsafe",
        )
    if unanswered := _not_returned(facts, denied=False):
        return missing_data(
            *unanswered,
            fix="search the logs of these brokers: they accept connections and do not return this"
            " data, as while they wait for ZooKeeper or for the controllers (zookeeper-reachable,"
            " quorum-reachable)",
        )
    return satisfied(f"brokers {listed(broker.id for broker in facts.brokers)} answer")


@check("broker-rights", "The brokers return all requested data", needs=no_brokers)
def broker_rights(facts: Facts) -> Finding:
    if refused := _not_returned(facts, denied=True):
        return missing_data(
            *refused,
            fix="grant the principal DESCRIBE and DESCRIBE_CONFIGS on CLUSTER, and on all topics"
            " (kafka-acls --bootstrap-server HOST:PORT --add --allow-principal User:NAME"
            " --operation Describe --operation DescribeConfigs --cluster; the same with"
            " --topic '*')",
        )
    if unanswered := _not_returned(facts, denied=False):
        return missing_data(*unanswered, fix=SEE_BROKERS)
    return satisfied("the brokers return all requested data")


def _not_returned(facts: Facts, *, denied: bool) -> list[str]:
    """Return a line for each request that brokers which answer deny, or otherwise fail."""
    asked: list[tuple[str, object]] = [
        (f"broker {broker.id}: ", each)
        for broker in facts.brokers
        if not isinstance(broker.release, Unknown)
        for each in (broker.settings, broker.log_dirs)
    ]
    if isinstance(facts.topics, Topics):
        asked += [("", facts.topics.min_isr), ("", facts.topics.reassignments)]
    return [
        who + each.why for who, each in asked if isinstance(each, Unknown) and each.denied is denied
    ]
