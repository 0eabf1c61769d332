"""`jmx`: the PySpark Python Data Source over the JMX numbers that operators collect already.

Options: those of `streams.spark.journal_source`, and `asked` (JSON of `streams.jmx.config`).
"""

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from migration.shard.placement import JMX
from streams.spark.journal_source import JournalOptions, JournalReader, Watcher
from streams.spark.metadata_source import SCHEMA

if TYPE_CHECKING:
    from streams.state.journal import Journal


class JmxSource(DataSource):
    """The data source with the format `jmx`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = JournalOptions.parse(options, watched="asked")

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "jmx"

    def schema(self) -> str:
        """Return the schema: rows are packed facts."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> "JmxReader":  # noqa: ARG002, N802
        """Return the reader; nothing is opened yet."""
        return JmxReader(self._options, JMX, self.name())


class JmxReader(JournalReader):
    """Reads the numbers of the nodes' JMX beans."""

    def watch(self, journal: "Journal") -> Watcher:
        """Start polling."""
        from streams.jmx.config import parse_jmx
        from streams.jmx.poller import JmxPoller
        from streams.state.source_status import now_ms

        return JmxPoller(parse_jmx(self.options.watched), journal.append, now_ms).start()
