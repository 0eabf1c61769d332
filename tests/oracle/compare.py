"""Says where two answers about the same log differ, one line for each difference."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.projection import CORE_KINDS

Json = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def differences(product: Json, oracle: Json, since: int = 0) -> list[str]:
    """Compare `kraftgate replay --json` with the projection.

    What the oracle does not know (further keys, further kinds of events) is not compared.

    Args:
        product: What the product says.
        oracle: What the oracle says.
        since: Compare events from this offset on: where a snapshot ends and the log begins.
    """
    found = [
        f"{name}: product {product.get(name)!r}, oracle {oracle[name]!r}"
        for name in oracle
        if name not in ("brokers", "events") and product.get(name) != oracle[name]
    ]
    return found + _brokers(product, oracle) + _events(product, oracle, since)


def _brokers(product: Json, oracle: Json) -> list[str]:
    ours = {broker["id"]: broker for broker in product["brokers"]}
    theirs = {broker["id"]: broker for broker in oracle["brokers"]}
    if list(ours) != list(theirs):
        return [f"brokers: product {list(ours)}, oracle {list(theirs)}"]
    return [
        f"broker {id_}, {name}: product {ours[id_].get(name)!r}, oracle {value!r}"
        for id_, broker in theirs.items()
        for name, value in broker.items()
        if ours[id_].get(name) != value
    ]


def _events(product: Json, oracle: Json, since: int) -> list[str]:
    ours = Counter(
        _key(event)
        for event in product["events"]
        if event["kind"] in CORE_KINDS and event["offset"] >= since
    )
    theirs = Counter(_key(event) for event in oracle["events"])
    offsets = [event["offset"] for event in product["events"]]
    return [
        *([] if offsets == sorted(offsets) else ["events: not in the order of their offsets"]),
        *(f"event only in the product: {key}" for key in sorted((ours - theirs).elements())),
        *(f"event only in the oracle: {key}" for key in sorted((theirs - ours).elements())),
    ]


def _key(event: Json) -> tuple[int, str, int, int]:
    broker = event["broker"]
    at_ms = event["timestamp_ms"] if "timestamp_ms" in event else _ms(event["timestamp"])
    return event["offset"], event["kind"], -1 if broker is None else broker, at_ms


def _ms(iso: str) -> int:
    return (datetime.fromisoformat(iso) - _EPOCH) // timedelta(milliseconds=1)
