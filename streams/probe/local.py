"""`meta.properties` of a broker that runs on this host."""

import threading
from collections.abc import Sequence
from pathlib import Path

from migration.observed.probed import MetaProperties
from migration.values.foreign import INT32_MAX, Unreadable, whole
from streams.kafka.broker_values import BrokerAddress
from streams.log_dirs.local_host import META, is_own_host, properties

_READ_S_MAX = 3.0


def meta_properties(
    broker: BrokerAddress, paths: Sequence[str], cluster_id: str | None
) -> tuple[MetaProperties, ...] | None:
    """Return the files of a broker's log directories; None when it runs on another host.

    An address of this host may be the local end of a tunnel: unless one of the files names both the
    broker and its cluster, no file is attributed to the broker. A dead disk blocks its reader for
    ever, so a thread that may be abandoned reads the files.
    """
    found: list[MetaProperties] = []

    def read() -> None:
        if is_own_host(broker.host):
            found.extend(one for path in paths if (one := _read(path)) is not None)

    thread = threading.Thread(target=read, name="meta.properties", daemon=True)
    thread.start()
    thread.join(_READ_S_MAX)
    told = tuple(found)
    own = any(one.node_id == broker.id and one.cluster_id == cluster_id for one in told)
    return told if own else None


def _read(path: str) -> MetaProperties | None:
    try:
        found = properties((Path(path) / META).read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return MetaProperties(
        path=path,
        node_id=_id(found.get("broker.id", found.get("node.id"))),
        cluster_id=found.get("cluster.id"),
        directory_id=found.get("directory.id"),
        old_ids="directory.ids" in found,
    )


def _id(text: str | None) -> int | None:
    try:
        return whole(text, "node.id", 0, INT32_MAX)
    except Unreadable:
        return None
