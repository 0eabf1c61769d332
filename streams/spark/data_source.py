"""The job's PySpark Python Data Source: all sources of all clusters.

Spark asks one long-lived process for offsets and partitions (`JobReader`), and the executors for
rows. It pickles the data source and the reader for other processes, so nothing is opened before the
first call. One data source instead of one for each source saves a process of about 100 MB each, and
the time in which Spark plans and starts it. `feeds` says where the sources are observed.

The offset is an object with the offset of each source, named `CLUSTER/FORMAT`. A source that is
added to the configuration begins at its own start; the offset of one that was removed is kept.

Options: `sources` (JSON: a list of format and options of each source), `state` (the state
directory, of removed sources), `waits` ("true": `latestOffset` waits briefly for something new).
"""

import json
import logging
import signal
import time
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from streams.process.feed import Feed, Offset
from streams.spark.feed_process import FORMATS
from streams.spark.feeds import Feeds
from streams.spark.settings import ClusterSources
from streams.spark.source import FeedDamaged, Source, damages

if TYPE_CHECKING:
    from streams.spark.rows import Row

SCHEMA: Final = (
    StructType()
    .add("cluster", "string")
    .add("shard", "integer")
    .add("ordinal", "long")
    .add("chunk", "binary")
)
"""The rows of `streams.spark.rows`; as DDL, Spark would start its parser: 0.1 s of each start."""
_WAIT_S: Final = 0.8
"""How long one call for the latest offset waits, instead of spinning."""
_GATHER_S: Final = 1.0
"""How long data that is not urgent waits for that of other sources, which poll at about the same
time: each batch takes 0.4 s of a core, with all that follows from it.
"""
_TASK_BYTES: Final = 16 * 2**20
"""How much one task reads, unless a single part is larger."""

_log: Final = logging.getLogger(__name__)


def source_name(format_: str, options: Mapping[str, str]) -> str:
    """Return the name of a source in the offsets."""
    return f"{options['cluster']}/{format_}"


class KraftgateDataSource(DataSource):
    """The data source with the format `kraftgate`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = dict(options)

    @staticmethod
    def options_of(
        sources: Sequence[tuple[str, Mapping[str, str]]], state_dir: Path, *, waits: bool
    ) -> dict[str, str]:
        return {
            "sources": json.dumps(sources),
            "state": str(state_dir.absolute()),
            "waits": "true" if waits else "false",
        }

    @classmethod
    def name(cls) -> str:
        return "kraftgate"

    def schema(self) -> StructType:
        return SCHEMA

    def streamReader(self, schema: StructType) -> "JobReader":  # noqa: ARG002, N802
        """Return the reader, in a process of Spark's that ends with its input, in good order.

        SIGTERM, which Spark sends at the same time, would end the sources in the middle of that.
        """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        return JobReader(self._options)


class _Parts(InputPartition):
    """Parts of sources for one task; the value is a list of the source's name and its part."""

    def __init__(self, parts: list[tuple[str, Any]]) -> None:
        super().__init__(parts)


class JobReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offers offsets, plans partitions, reads rows."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._configured: dict[str, tuple[str, Mapping[str, str]]] = {
            source_name(format_, of): (format_, of)
            for format_, of in json.loads(options["sources"])
        }
        self._urgent = [
            name for name, (format_, _) in self._configured.items() if FORMATS[format_].urgent
        ]
        self._state = Path(options["state"])
        self._waits = options["waits"] == "true"
        self._open: dict[str, Source] = {}
        self._committed: dict[str, Offset] = {}
        self._damaged: set[str] = set()
        self._feeds: Feeds | None = None

    def initialOffset(self) -> dict[str, Offset]:  # noqa: N802
        return {name: self._source(name).initial() for name in self._configured}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Do nothing: a file source ends where its files end."""

    def latestOffset(  # noqa: N802
        self,
        start: Mapping[str, Any],
        limit: ReadLimit,  # noqa: ARG002
    ) -> dict[str, Offset]:
        """Return the end of the next batch; wait briefly for one if the option says so."""
        begin = {
            name: dict(start[name]) if name in start else self._source(name).initial()
            for name in self._configured
        }
        latest = {name: self._latest(name, at) for name, at in begin.items()}
        if self._waits:
            self._wait(begin, latest, self._configured, _WAIT_S)
        if self._waits and latest != begin:
            if not any(self._source(name).has_more(begin[name], latest[name]) for name in begin):
                self._wait(begin, latest, self._urgent, _GATHER_S)
            # A batch takes its time for each cluster that it has rows of.
            clusters = {self._cluster(name) for name in begin if latest[name] != begin[name]}
            latest |= {
                name: self._latest(name, at, along=True)
                for name, at in begin.items()
                if self._cluster(name) in clusters
            }
        return {**start, **latest}

    def _cluster(self, name: str) -> str:
        return self._configured[name][1]["cluster"]

    def _latest(self, name: str, at: Offset, *, along: bool = False) -> Offset:
        """Return the end of a source's batch; `at` once it is damaged: other clusters do not wait.

        The damage is in the source's status, which closes its cluster's gates. If the job has only
        one cluster, the error ends the job: there is nothing else to observe.
        """
        if name in self._damaged:
            return at
        try:
            return self._source(name).latest(at, along=along)
        except damages() as error:
            self._note(name, error)
            return at

    def _note(self, name: str, error: Exception) -> None:
        """Stop reading the source; raise the error if its cluster is the only one."""
        if len(set(map(self._cluster, self._configured))) == 1:
            raise error
        self._damaged.add(name)
        if not isinstance(error, FeedDamaged):
            self._source(name).note_damage(str(error))
        _log.error("%s is not read any more until the next start: %s", name, error)

    def _wait(
        self,
        begin: Mapping[str, Offset],
        latest: dict[str, Offset],
        names: Collection[str],
        seconds: float,
    ) -> None:
        """Wait for something new from sources with these names; take what others have, too."""
        deadline = time.monotonic() + seconds
        while all(latest[name] == begin[name] for name in names):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            for name in self._opening().news(left):
                latest[name] = self._latest(name, begin[name])

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[_Parts]:
        """Return the parts between two offsets; the same ones again after a crash.

        A task costs more than what most parts take, so small ones share it.
        """
        parts: list[_Parts] = []
        room = 0
        for name, until in end.items():
            source = self._source(name)
            begin = start.get(name, source.initial())
            # Spark plans the first batch even if there is nothing new.
            if begin == until:
                continue
            for each in source.plan(begin, until):
                size = source.size(each)
                if not parts or size > room:
                    parts.append(_Parts([]))
                    room = _TASK_BYTES
                parts[-1].value.append((name, each))
                room -= size
        return parts

    def read(self, partition: InputPartition) -> "Iterator[Row]":
        """Yield the rows of some parts; runs on an executor."""
        for name, part in partition.value:
            yield from self._source(name).read(part)

    def commit(self, end: Mapping[str, Any]) -> None:
        """Release everything before `end`."""
        for name, source in self._open.items():
            until = end.get(name)
            if name in self._damaged:  # it may be another journal, from which nothing was read
                continue
            if until is not None and self._committed.get(name) != until:
                try:
                    source.commit(until)
                except damages() as error:
                    self._note(name, error)
                    continue
                self._committed[name] = until

    def stop(self) -> None:
        for source in self._open.values():
            source.stop()
        if self._feeds is not None:
            self._feeds.stop()

    def _opening(self) -> Feeds:
        # Not in the constructor: Spark pickles the reader, and a lock cannot be pickled.
        if self._feeds is None:
            self._feeds = Feeds(map(self._cluster, self._configured))
        return self._feeds

    def _source(self, name: str) -> Source:
        if name not in self._open:
            format_, options = self._configured.get(name) or self._removed(name)
            feed = partial(self._feed, name, format_, options)
            self._open[name] = FORMATS[format_](options, feed)
        return self._open[name]

    def _feed(self, name: str, format_: str, options: Mapping[str, str]) -> Feed:
        return self._opening().open(name, format_, options)

    def _removed(self, name: str) -> tuple[str, Mapping[str, str]]:
        """Return a source that is no longer configured, to read a batch that was begun."""
        cluster, _, format_ = name.rpartition("/")
        options = dict(ClusterSources(cluster=cluster).options(self._state))
        return format_, options[format_]
