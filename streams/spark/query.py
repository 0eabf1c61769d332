"""Starts the job: live over clusters (`follow`), or over files to their end (`replay`).

Both build the same query. Content of the state directory: `checkpoint/` (Spark's), `store.db`,
`transitions/` (Parquet), `clusters/NAME/` (the spool of the live log, the source's status) and
`spark.log` (the output of the JVM and its workers).

The JVM is launched after this module's imports. Modules that are needed only once the JVM runs are
therefore imported in functions, or by `session` while the JVM starts.
"""

import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streams.metadata.log_files import require_log
from streams.net.secret_file import SecretFileRefused
from streams.process.clocks import wall_clock_ms
from streams.spark.checkpoint import (
    DamagedCheckpoint,
    ForeignCheckpoint,
    check_files,
    follow_move,
    join_sources,
    last_batch,
    query_id,
    remove_unfinished,
)
from streams.spark.data_source import KraftgateDataSource, source_name
from streams.spark.executors import NotShared, check_shared
from streams.spark.processor import OUTPUT, ReplicaTracker
from streams.spark.session import (
    CannotDeploy,
    end_session,
    is_remote,
    kill_jvm,
    prepare_workers,
    session,
    why_no_jvm,
)
from streams.spark.settings import LOCAL, ClusterSources, Deployment
from streams.state.recovery import NEW_STORE, REPLAYED, REPLAYED_UNTIL_DAMAGE
from streams.state.source_status import STATUS_FILE, read_status

if TYPE_CHECKING:
    from migration.image.summary import ClusterSummary
    from migration.metadata.events import Event
    from streams.spark.sink import RequestPoll
    from streams.state.store import Store

LOG_FILE: Final = "spark.log"
_LOG: Final = logging.getLogger(__name__)
_ANSWER_S_MAX: Final = 60.0
"""A JVM answers in milliseconds; one that collects garbage for longer than this is of no use."""
_TASKS: Final = "spark.sql.shuffle.partitions"
_OF_QUERY: Final = re.compile(
    r"\[STREAM_FAILED\] .* terminated with exception: *(.*?)\.? *SQLSTATE: \w+"
)
_OF_ENDED: Final = ("EOFException", "Python worker ")
# Spark waits 10 s for a process to start (PythonWorkerFactory).
_PYTHON_ENDED: Final = (
    "a Python process of Spark ended, or did not start within 10 s: memory is short (dmesg), or the"
    " machine is busy. Start the command again"
)
_OF_FULL_DISK: Final = ("No space left on device", "Disk quota exceeded")
_DISK_IS_FULL: Final = (
    "free space on the disk of `state_dir` or of temporary files. Then start the command again"
)
_PYTHON_ERROR: Final = re.compile(r"^([\w.]+(?:Error|Exception|[A-Z]\w+)): (.*)$", re.MULTILINE)


class JobFailed(Exception):
    """The query ended with an error, or could not start; the message is the cause, in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOutcome:
    """The result of a replay.

    Attributes:
        summary: None when not even the first batch could be read.
        damage: why the log could not be read to its end, with file and byte; None: it could.
    """

    summary: "ClusterSummary | None"
    events: "Sequence[Event]"
    damage: str | None


class Job:
    """A running query and its resources."""

    def __init__(self, query: StreamingQuery, held: ExitStack, log: Path) -> None:
        """Wrap a query; `log`: the file with the output of its JVM."""
        self._query = query
        self._held = held
        self._asking = ThreadPoolExecutor(1, "spark-poll")
        self._jvm_gone = _jvm_gone(log)

    def poll(self) -> None:
        """Check that the query still runs.

        Raises:
            JobFailed: it ended with an error, or the JVM, which is killed then, does not answer.
        """
        try:
            # A round trip to the JVM without a limit of its own: a JVM that is frozen, or out of
            # memory, would stop every alert.
            error = self._asking.submit(self._error).result(_ANSWER_S_MAX)
        except TimeoutError:
            kill_jvm()
            raise JobFailed(self._jvm_gone) from None
        except (Py4JError, OSError) as gone:
            raise JobFailed(self._jvm_gone) from gone
        if error is not None:
            raise JobFailed(_cause(error)) from error

    def _error(self) -> StreamingQueryException | None:
        return None if self._query.isActive else self._query.exception()

    def wait_finished(self) -> None:
        """Wait for the end of a query over files.

        Raises:
            JobFailed: it ended with an error.
        """
        try:
            self._query.awaitTermination()
        except StreamingQueryException as error:
            raise JobFailed(_cause(error)) from error
        except (Py4JError, OSError) as gone:
            raise JobFailed(self._jvm_gone) from gone

    def stop(self) -> None:
        """End the query, and release the state directory."""
        try:
            self._query.stop()
        except (Py4JError, PySparkException, OSError) as error:
            _LOG.warning("the query could not be stopped in good order: %s", _cause(error))
        finally:
            self._asking.shutdown(wait=False)
            self._held.close()


def follow(
    clusters: Sequence[ClusterSources],
    state_dir: Path,
    deployment: Deployment = LOCAL,
    check_start: Callable[[], None] = lambda: None,
) -> Job:
    """Follow clusters until stopped; the caller has claimed the state directory.

    `check_start` is called while executors are waited for; its error ends the wait.

    Raises:
        JobFailed: the query could not be started, or the state directory is damaged or of another
            query.
    """
    held = ExitStack()
    try:
        spark = _session(state_dir, deployment)
        if is_remote(spark):
            _check_executors(spark, state_dir, check_start)
        sources = [each for cluster in clusters for each in cluster.options(state_dir)]
        stream = _stream(spark, sources, state_dir, waits=True)
        request_poll = _poll_requests(clusters, state_dir, held)
        return _start(stream, state_dir, held, request_poll, available_now=False)
    except (PySparkException, Py4JError) as error:
        held.close()
        raise _not_started(error, state_dir) from error
    except BaseException:
        held.close()
        raise


def replay(path: Path, state_dir: Path | None = None, cluster: str = "replay") -> ReplayOutcome:
    """Run the job over a metadata log's files to their end.

    `state_dir`: where the store and the transitions remain; None: they are deleted. Ctrl-C also
    ends Spark.

    Raises:
        NotAMetadataLog: there is none at `path`.
        JobFailed: the job failed for another reason than damage in the log.
    """
    require_log(path)
    with _temporary() if state_dir is None else nullcontext(state_dir) as home:
        try:
            return _replay(path, home, cluster)
        except KeyboardInterrupt:
            end_session()  # its processes write to the directory that may be deleted now
            raise


@contextmanager
def _temporary() -> Iterator[Path]:
    """Provide a directory that is deleted at the end, without the output that an error names."""
    with tempfile.TemporaryDirectory(prefix="kraftgate-") as name:
        try:
            yield Path(name)
        except JobFailed as error:
            for log in Path(name).glob(f"*/{LOG_FILE}"):
                if str(log) in str(error):
                    kept = Path(f"{name}.log")
                    log.replace(kept)
                    raise JobFailed(str(error).replace(str(log), str(kept))) from error
            raise


def _replay(path: Path, state_dir: Path, cluster: str) -> ReplayOutcome:
    try:
        return _replay_to_end(path, state_dir / REPLAYED, cluster, until=None)
    except JobFailed:
        # The planner's checks cover headers and CRCs; the job decodes the values.
        from streams.spark.damage import first_damage

        damage = first_damage(path)
        if damage is None:
            raise
    until_damage = state_dir / REPLAYED_UNTIL_DAMAGE
    outcome = _replay_to_end(path, until_damage, cluster, until=damage.offset)
    return ReplayOutcome(summary=outcome.summary, events=outcome.events, damage=damage.text)


def _replay_to_end(path: Path, state_dir: Path, cluster: str, until: int | None) -> ReplayOutcome:
    spark = _session(state_dir)
    options = {
        "cluster": cluster,
        "state": str((state_dir / "clusters" / cluster).absolute()),
        "path": str(path.absolute()),
    }
    if until is not None:
        options["until"] = str(until)
    with ExitStack() as held:
        try:
            stream = _stream(spark, [("kraft_metadata", options)], state_dir, waits=False)
            job = _start(stream, state_dir, held, available_now=True)
        except (PySparkException, Py4JError) as error:
            raise _not_started(error, state_dir) from error
        try:
            job.wait_finished()
        finally:
            job.stop()
    from streams.state.store import Store

    with _one_error(), Store.open_readonly(state_dir / "store.db") as store:
        summary = store.summary(cluster)
        # The events were not observed live; the time of reading is not part of the file.
        events = [replace(event, seen_ms=None) for _, event in store.events(cluster)]
    status_file = state_dir / "clusters" / cluster / STATUS_FILE
    damage = read_status(status_file).error
    return ReplayOutcome(summary=summary, events=events, damage=damage)


def _session(state_dir: Path, deployment: Deployment = LOCAL) -> SparkSession:
    log = state_dir / LOG_FILE
    try:
        return session(log, deployment=deployment)
    except (CannotDeploy, SecretFileRefused) as error:
        raise JobFailed(str(error)) from error
    except PySparkException as error:
        raise JobFailed(f"Spark's JVM does not start: {why_no_jvm(log)}") from error
    except Py4JError as error:
        if deployment.master is None or deployment.master.startswith("local"):
            raise
        raise JobFailed(
            f"the Spark master {deployment.master} does not answer, or rejects `secret_file` or"
            f" the settings ({_line(error)}): see {log}"
        ) from error


def _check_executors(spark: SparkSession, state_dir: Path, check_start: Callable[[], None]) -> None:
    try:
        check_shared(spark, state_dir, check_start)
    except NotShared as error:
        raise JobFailed(str(error)) from error
    except (PySparkException, Py4JError) as error:
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise JobFailed(
            f"the executors cannot run the job: {_line(error)}. Check `spark.pyspark.python` (it"
            f" must be Python {python}), `secret_file`, and the log of the workers"
        ) from error


def _stream(
    spark: SparkSession,
    sources: Sequence[tuple[str, Mapping[str, str]]],
    state_dir: Path,
    *,
    waits: bool,
) -> DataFrame:
    with _one_error():
        check_files(state_dir / "checkpoint")
        follow_move(state_dir / "checkpoint")
        join_sources(state_dir / "checkpoint", [source_name(*each) for each in sources])
    options = KraftgateDataSource.options_of(sources, state_dir, waits=waits)
    stream = spark.readStream.format(KraftgateDataSource.name()).options(**options).load()
    prepare_workers(spark)
    return stream


def _poll_requests(
    clusters: Sequence[ClusterSources], state_dir: Path, held: ExitStack
) -> "RequestPoll":
    """Return the driver's function that requests an immediate poll by the source `log_dirs`.

    Raises:
        RequestsUnusable: the requests of the only cluster cannot be written.
    """
    from streams.log_dirs.errors import RequestsUnusable
    from streams.log_dirs.poll_requests import REQUESTS, PollRequests

    @contextmanager
    def others_go_on() -> Iterator[None]:
        try:
            yield
        except RequestsUnusable as error:
            if len(clusters) == 1:
                raise
            _LOG.warning("%s. Its disks are polled only at the usual interval", error)

    requests: dict[str, PollRequests] = {}
    for each in clusters:
        if each.brokers is not None:
            path = state_dir / "clusters" / each.cluster / REQUESTS
            with others_go_on():
                requests[each.cluster] = held.enter_context(PollRequests(path))

    def request_poll(cluster: str, broker: int | None, why: str) -> None:
        if cluster in requests:
            with others_go_on():
                requests[cluster].ask(broker, why)

    return request_poll


def _start(
    stream: DataFrame,
    state_dir: Path,
    held: ExitStack,
    request_poll: "RequestPoll | None" = None,
    *,
    available_now: bool,
) -> Job:
    from streams.spark.sink import StoreSink
    from streams.state.store import Store

    with _one_error():
        store = held.enter_context(Store.open(state_dir / "store.db"))
    transitions = state_dir.absolute() / "transitions"
    for left in transitions.glob("*/.*.tmp"):  # by a process that was killed while it wrote
        left.unlink(missing_ok=True)
    checkpoint = state_dir.absolute() / "checkpoint"
    remove_unfinished(checkpoint)
    spark = stream.sparkSession
    # One more task costs a small batch 100 ms (measured: `make bench`), and speeds up a large one.
    tasks = min(os.cpu_count() or 1, 8) if available_now else 1
    if is_remote(spark):
        context = spark.sparkContext
        tasks = int(context.getConf().get(_TASKS, "0")) or max(2, context.defaultParallelism)
    spark.conf.set(_TASKS, str(tasks))
    tracked = stream.groupBy("cluster", "shard").transformWithState(
        ReplicaTracker(str(transitions)), OUTPUT, "Update", "None"
    )
    writer = (
        tracked.writeStream.outputMode("update")
        .option("checkpointLocation", str(checkpoint))
        .foreachBatch(StoreSink(store, wall_clock_ms, request_poll))
    )
    with _one_error():
        check_store(store, checkpoint)
    query = (writer.trigger(availableNow=True) if available_now else writer).start()
    with _one_error():
        store.claim(str(query.id))
    return Job(query, held, state_dir / LOG_FILE)


@contextmanager
def _one_error() -> Iterator[None]:
    """Raise JobFailed if the store or the checkpoint is damaged or belongs to another query."""
    from streams.state.store import StoreError

    try:
        yield
    except (ForeignCheckpoint, DamagedCheckpoint, StoreError) as error:
        raise JobFailed(str(error)) from error


def check_store(store: "Store", checkpoint: Path) -> None:
    """Check that store and checkpoint are of one run.

    Raises:
        StoreError: they are not, or one of them is missing.
        DamagedCheckpoint: the checkpoint's query cannot be read.
    """
    from streams.state.store import StoreError

    known = query_id(checkpoint)
    if known is None:
        if store.clusters():
            raise StoreError(
                f"{checkpoint.parent} has a store but no Spark checkpoint: {NEW_STORE}"
            )
        return
    # The first batch may be empty, and end before the store is bound to the query. Each later one
    # has rows, or is of a later start, which binds the store before.
    if store.query() is None and not store.clusters() and last_batch(checkpoint) > 0:
        raise StoreError(f"{checkpoint.parent} has a Spark checkpoint but no store: {NEW_STORE}")
    store.claim(known)


def _jvm_gone(log: Path) -> str:
    return f"Spark's JVM ended or does not answer: its output is in {log}. Start the command again"


def _not_started(error: PySparkException | Py4JError, state_dir: Path) -> JobFailed:
    is_gone = isinstance(error, Py4JNetworkError)
    return JobFailed(_jvm_gone(state_dir / LOG_FILE) if is_gone else _cause(error))


def _cause(error: Exception) -> str:
    """Return the line of an error, with the fix if a disk is full or a Python process ended."""
    line, text = _line(error), _text(error)
    fixes = ((_OF_FULL_DISK, _DISK_IS_FULL), (_OF_ENDED, _PYTHON_ENDED))
    fix = next((fix for parts, fix in fixes if any(each in text for each in parts)), None)
    return line if fix is None else f"{line}: {fix}"


def _line(error: Exception) -> str:
    """Return the Python error at the bottom of Spark's, in one line, or else Spark's own."""
    text = _text(error)
    found = _PYTHON_ERROR.findall(text)
    if found:
        name, message = found[-1]
        return f"{message.rstrip('.')} ({name.rsplit('.', 1)[-1]})"
    line = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    of_query = _OF_QUERY.match(line)
    return line if of_query is None else of_query[1] or "Spark names no cause"


def _text(error: Exception) -> str:
    try:
        return str(error).replace("\n: ", "\n")  # Py4J's separator
    except Py4JError:  # the text of a Java error is in the JVM
        return "Spark's JVM ended"
