"""The key `jmx` of `status --json`: every node's numbers, with the time they were read."""

from migration.observed.jmx import Contradiction, JmxImage, JmxNode
from migration.observed.source_status import SourceStatus, stale_ms
from migration.values.timestamps import iso


def jmx_json(image: JmxImage | None, source: SourceStatus, now_ms: int) -> dict[str, object] | None:
    """Give the numbers by node id; null when they were never asked for.

    A number that is not there is not known. `stale_seconds` is the age of the last answer of any
    node, `waiting` and `error` are the source's own words.
    """
    if image is None:
        return None
    age = stale_ms(source, now_ms)
    return {
        "stale_seconds": None if age is None else age / 1000,
        "waiting": source.waiting,
        "error": source.error,
        "nodes": {str(id_): _node_json(image.nodes[id_]) for id_ in sorted(image.nodes)},
        "contradictions": [_contradiction_json(each) for each in image.contradictions],
    }


def _node_json(node: JmxNode) -> dict[str, object]:
    since = node.unreachable_since_ms
    queue = node.queue
    return {
        "endpoint": node.endpoint,
        "read_at": None if node.read_ms is None else iso(node.read_ms),
        "numbers": dict(node.numbers),
        "unreachable": node.unreachable,
        "unreachable_since": None if since is None else iso(since),
        "queue": None
        if queue is None
        else {
            "not_below": queue.value,
            "since": iso(queue.since_ms),
            "filled_at": iso(queue.filled_ms),
        },
    }


def _contradiction_json(each: Contradiction) -> dict[str, object]:
    return {
        "node": each.node,
        "name": each.name,
        "reads": each.reads,
        "expected": each.expected,
        "against": each.against,
        "since": iso(each.since_ms),
        "lasting": each.lasting,
    }
