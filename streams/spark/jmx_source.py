"""`jmx`: the PySpark Python Data Source over the JMX numbers that operators collect already.

Options: those of `streams.spark.journal_source`, and `asked` (JSON of `streams.jmx.config`).
"""

from typing import TYPE_CHECKING

from migration.shard.placement import JMX
from streams.spark.journal_source import JournalReader, JournalSource, Watcher

if TYPE_CHECKING:
    from streams.state.journal import Journal


class JmxReader(JournalReader):
    """Reads the numbers of the nodes' JMX beans."""

    format = "jmx"
    shard = JMX
    option = "asked"

    def watch(self, journal: "Journal") -> Watcher:
        from streams.jmx.config import parse_jmx
        from streams.jmx.poller import JmxPoller
        from streams.state.source_status import now_ms

        return JmxPoller(parse_jmx(self.options.watched), journal.append, now_ms).start()


class JmxSource(JournalSource):
    """The data source with the format `jmx`."""

    reader_type = JmxReader
