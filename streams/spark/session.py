"""The Spark session, configured for small, quick micro-batches.

Spark runs on this machine unless a deployment or `spark-submit` names another master. One session
per process: the first call starts it, later ones return it.
`python -m streams.spark.warm` creates an archive of the JVM's classes, with which it starts in half
the time; `kraftgate replay` runs it in the background if there is none.
"""

import atexit
import hashlib
import logging
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module, resources
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import psutil
import pyspark
from py4j.java_gateway import GatewayConnection
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streams.net.secret_file import first_line
from streams.process.java import RELEASE_MIN, build_of, flaw_of
from streams.spark import worker_template
from streams.spark.data_source import KraftgateDataSource
from streams.spark.executors import PACKAGES, write_archive
from streams.spark.settings import LOCAL, Deployment
from streams.state.directory import cache_root, check_way, create_in_cache, create_private

_GATEWAY_PORT: Final = "PYSPARK_GATEWAY_PORT"
"""`spark-submit` has started the JVM, and this process from it."""
_STREAMING: Final = "org.apache.spark.sql.execution.streaming"
_JAVA: Final = (
    # Threads of the JVM's second compiler and of parallel collectors compete with the Python
    # workers on a small machine (shared/spark-facts: 404 -> 270 ms a batch together).
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    # Nothing is collected before the young generation is full, so an idle job touches all of it.
    # Its default depends on the host's memory: 126 MB of 24 GB.
    "-Xmn64m",
    "-Xss4m",
    "-Xshare:auto",
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
)
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9_./+@:,=~-]+")
_FIX: Final = (
    f"Spark needs Java {RELEASE_MIN} or later (Debian: apt-get install openjdk-17-jre-headless)"
)
_FILES_MIN: Final = 512
"""Without them the JVM ends with an error that names another cause; it works with 400."""
_LINES_MAX: Final = 12
_END_S_MAX: Final = 20.0
"""Time to wait for the end of Spark's processes. A source may take longer, of a cluster that does
not answer; what it stored is durable at any time, so its process is killed then."""
_END_POLL_S: Final = 0.02
_ATTEMPT_AGAIN_S: Final = 86_400.0
_IDLE: Final = 19
"""The lowest priority of a process."""
_LAST_THREAD_S_MAX: Final = 10.0
_log: Final = logging.getLogger(__name__)
_MEMORY: Final = (
    "Free memory on this host, or lower `spark.driver.memory` in `run.spark.settings`; its whole"
    " output is in {log}"
)
_OPTION: Final = (
    "Correct the option of the JVM in JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS or"
    " `run.spark.settings`; its whole output is in {log}"
)
_CAUSES: Final = (
    ("insufficient memory", _MEMORY),
    ("Cannot allocate memory", _MEMORY),
    ("OutOfMemoryError", _MEMORY),
    ("Could not reserve enough space", _MEMORY),
    ("Could not allocate", f"Raise the limit of `ulimit -v`, if there is one. {_MEMORY}"),
    ("Killed", _MEMORY),
    ("Unrecognized VM option", _OPTION),
    ("Unrecognized option", _OPTION),
    ("Invalid initial heap size", _OPTION),
    ("Invalid maximum heap size", _OPTION),
    ("Initial heap size set to a larger value", _OPTION),
    ("Too small maximum heap", _OPTION),
    ("Conflicting collector combinations", _OPTION),
    ("No space left on device", "Free space on the disk; its whole output is in {log}"),
    ("Too many open files", "Raise the limit of `ulimit -n`; its whole output is in {log}"),
)
"""A part of the line in which the JVM or the shell says why it ended, and the fix."""
_UNKNOWN: Final = (
    "If it printed nothing, a signal ended it, such as the kernel's for lack of memory (dmesg);"
    " its whole output is in {log}"
)
SETTINGS: Final = {
    "spark.app.name": "kraftgate",
    "spark.python.daemon.module": "streams.spark.worker_daemon",
    # It sets a variable for some workers and not for others, so that they could not be shared.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # What Spark keeps for its web interface: a thousand of each by default, also without it.
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "10",
    # Between two of them an idle job touches new pages of the old generation; default 30 min.
    "spark.cleaner.periodicGC.interval": "10min",
    # Other users can connect to the ports of RPC and block manager: without authentication Spark
    # deserializes any Java object that it receives. In local mode Spark creates the secret itself,
    # at each start, and stores it only in the JVM: in no setting, argument, variable or file.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
    # Hadoop sets the mode of the files that it creates, independently of the process's umask.
    "spark.hadoop.fs.permissions.umask-mode": "077",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    # MLlib's extension of SQL, which nothing here uses: 0.6 s of processor time at each start.
    "spark.sql.extensions.test.loadFromCp": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": (
        f"{_STREAMING}.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "64",
    # The default forks a process for every checkpoint file; this one is for local disks only.
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    # A batch that waits for executors does not end; the next start repeats it.
    "spark.sql.streaming.stopTimeout": "10s",
}
_LOOPBACK: Final = "127.0.0.1"
_LOCAL_IP: Final = "SPARK_LOCAL_IP"
"""Without it Spark resolves the machine's name, which need not have an address."""
_SECRET: Final = "spark.authenticate.secret"  # noqa: S105  # the name of a setting
_PIN_THREAD: Final = "PYSPARK_PIN_THREAD"
_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
_SOCKETS: Final = "spark.python.unix.domain.socket.dir"
_SOCKETS_LENGTH_MAX: Final = 107 - len(f"/.{uuid4()}.sock")
"""The kernel's limit for the path of a socket, without the name that PySpark gives it."""
LAUNCHER_OPTIONS: Final = "SPARK_LAUNCHER_OPTS"
_MEANWHILE: Final = ["streams.spark.sink", "pandas", "pyarrow", "pyspark.sql.pandas.functions"]
"""PySpark imports the last three, in 0.5 s, before its first call and for a stateful operator."""


_templates: Final[list[worker_template.Template]] = []
"""The template of the session; empty: there is no session, or it has no template."""


class CannotDeploy(Exception):
    """The cluster or host that is to run the job cannot be used so; the message has the fix."""


def class_archive() -> Path:
    """Return the path of the archive of classes: one for each installed PySpark and Java."""
    return _cache().with_suffix(".jsa")


def launcher_archive() -> Path:
    """Return the path of the archive for the JVM that composes the command of Spark's: 0.25 s."""
    return _cache().with_suffix(".home") / "launcher.jsa"


def unsigned_jars() -> Path:
    """Return the directory for copies of Spark's signed jars without the signatures.

    A JVM stores no class of a signed jar in its archive, and verifies each one at each start: 0.4 s
    for the compiler of Spark's generated code (Janino). The signature names nobody ("DUMMY").
    """
    return _cache().with_suffix(".home") / "unsigned"


def _cache() -> Path:
    """Return the path, without suffix, of the cached files for the installed PySpark and Java.

    A JVM ignores an archive of another build of Java, or whose jars have another time, so a new
    installation at the same place has another path.
    """
    installed = Path(pyspark.__file__).resolve().parent
    times = sorted(each.stat().st_mtime_ns for each in (installed / "jars").glob("*.jar"))
    java = java_of()
    with suppress(OSError):  # the start reports it
        java = java and build_of(java)
    place = hashlib.sha256(f"{installed} {times} {java}".encode()).hexdigest()[:8]
    return cache_root() / f"spark-{pyspark.__version__.replace('.', '_')}-{place}"


def session(
    log: Path, *, java_options: tuple[str, ...] = (), deployment: Deployment = LOCAL
) -> SparkSession:
    """Return the session, with Kraftgate's data source registered; start it first if necessary.

    `log`: the file for the output of the JVM and its Python workers.

    Raises:
        CannotDeploy: a cluster needs another setting, or this host another limit.
        SecretFileRefused: the deployment's file cannot be used.
    """
    try:
        spark = SparkSession.active()
    except PySparkException:  # there is none yet
        spark = _start(log, java_options, deployment)
        _ask_for_token(spark)
        _look_up_nothing(spark)
        gateway: Any = spark.sparkContext._gateway  # noqa: SLF001  # PySpark has no public handle
        drop_in_background(gateway._gateway_client)  # noqa: SLF001  # nor Py4J
        spark.sparkContext.environment.clear()
        threading.Thread(target=_start_reflection, args=[spark], daemon=True).start()
    spark.dataSource.register(KraftgateDataSource)
    return spark


def drop_in_background(client: Any) -> None:  # noqa: ANN401  # Py4J has no types
    """Let a thread of its own report to the JVM which of its objects this process has dropped.

    Python's collector runs in any thread. That thread would wait for a JVM that is frozen, without
    a limit, be it the one that serves the metrics or the one that would kill the JVM.
    """
    report, dropped = client.garbage_collect_object, queue.SimpleQueue[str]()
    client.garbage_collect_object = dropped.put

    def report_all() -> None:
        while True:
            report(dropped.get())

    threading.Thread(target=report_all, name="spark-dropped", daemon=True).start()


def prepare_workers(spark: SparkSession) -> None:
    """Start the workers and their imports in the background, while the query is being planned.

    Spark starts one Python process at a time. So a step that needs another one, and that the query
    waits for, must come first.
    """
    threading.Thread(target=_start_workers, args=[spark], daemon=True).start()


def archive_classes() -> subprocess.Popen[bytes] | None:
    """Let later starts have the archive of classes; return the process, which may outlive this one.

    Only after a command that ends: the process takes 1.2 GB, which next to `run` could exceed the
    limit of a container or service. Once a day at most: a Java that is not HotSpot writes none.
    """
    archive = class_archive()
    if _GATEWAY_PORT in os.environ or archive.is_file():
        return None
    attempt = archive.with_suffix(".home") / "attempt"
    try:
        if attempt.is_file() and time.time() - attempt.stat().st_mtime < _ATTEMPT_AGAIN_S:
            return None
        attempt.touch()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "streams.spark.warm", "--background"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join([_house(), *_given_path()])},
        )
        os.setpriority(os.PRIO_PROCESS, process.pid, _IDLE)
        with suppress(FileNotFoundError):  # a priority counts within a session only (sched(7))
            Path(f"/proc/{process.pid}/autogroup").write_text(str(_IDLE), encoding="ascii")
    except OSError as error:
        _log.debug("no archive of the JVM's classes: %s", error)
        return None
    return process


def end_session() -> None:
    """Stop Spark if it runs, and wait for its processes, which write to the state directory.

    Under `spark-submit` the JVM ends after this process.
    """
    context = SparkContext._active_spark_context  # noqa: SLF001  # no public way
    if context is None:
        return
    gateway: Any = context._gateway  # noqa: SLF001  # PySpark has no public handle
    left = _started_by_spark(gateway)
    # PySpark warns of a JVM that has ended; `Job` reports it.
    ignored = warnings.catch_warnings(action="ignore", category=RuntimeWarning)
    with _unless_gone(), ignored:
        context.stop()
    # Spark does not stop a worker that starts meanwhile.
    late = _started_by_spark(gateway) - left
    _wait_for(left)
    if gateway.proc is not None:
        gateway.proc.stdin.close()
        with _unless_gone():
            _wait_for({psutil.Process(gateway.proc.pid), *late})
        # Its first thread may have ended before the others, which makes it look like a zombie.
        with suppress(subprocess.TimeoutExpired):
            gateway.proc.wait(_LAST_THREAD_S_MAX)
        _forget_jvm()
    _end_templates()


def kill_jvm() -> None:
    """Kill the JVM that this process started: a call to one that is stopped waits for ever."""
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001  # no public way
    if process is not None and process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
        _log.warning("Spark's JVM %d did not end: it was killed", process.pid)


def _end_templates() -> None:
    while _templates:
        _templates.pop().end()


def _forget_jvm() -> None:
    """Let `end_session` skip a JVM that has ended, and let the next start launch another one."""
    SparkContext._active_spark_context = None  # noqa: SLF001  # PySpark has no public way
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001


def _started_by_spark(gateway: Any) -> set[psutil.Process]:  # noqa: ANN401  # PySpark has no types
    """Return the processes that the JVM started, and the template's forks.

    Without those of this process, which the JVM may have started.
    """
    found: set[psutil.Process] = set()
    for template in _templates:
        with _unless_gone():
            found |= {*psutil.Process(template.process.pid).children(recursive=True)}
    with _unless_gone():
        jvm = psutil.Process(int(gateway.jvm.java.lang.ProcessHandle.current().pid()))
        found |= {*jvm.children(recursive=True)}
        if gateway.proc is None:
            me = psutil.Process()
            found -= {me, *me.children(recursive=True)}
    return found


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Log an error of a JVM that has ended: its processes end by themselves."""
    try:
        yield
    except (Py4JError, psutil.Error, OSError) as error:
        _log.debug("the JVM has ended: %r", error)


def _wait_for(processes: set[psutil.Process]) -> None:
    """Wait for the end of processes; kill those that do not end in time."""
    deadline_s = time.monotonic() + _END_S_MAX
    while left := {each for each in processes if _runs(each)}:
        if time.monotonic() > deadline_s:
            pids = ", ".join(str(each.pid) for each in left)
            _log.warning("Spark's processes %s did not end within %.0f s", pids, _END_S_MAX)
            for each in left:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            return
        time.sleep(_END_POLL_S)


def _runs(process: psutil.Process) -> bool:
    """Whether it can still write: a process that has ended may wait for its parent to notice."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def is_remote(spark: SparkSession) -> bool:
    """Whether the executors are processes of a cluster manager."""
    return not (spark.sparkContext.master or "").startswith("local")


def _house() -> str:
    """Return the directory of Kraftgate's packages, which may be a checkout."""
    return str(Path(__file__).resolve().parents[2])


def _installed() -> list[str]:
    """Return the directories of Kraftgate's packages and of those that it requires."""
    places = (distribution(each).locate_file("") for each in ("pydantic", "numpy"))
    return list(dict.fromkeys([_house(), *map(str, places)]))


def _given_path() -> list[str]:
    return [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]


def _set_environment(python: str, paths: Iterable[str]) -> None:
    """Set the variables of this process that PySpark, the JVM and the driver's workers read."""
    os.environ["PYSPARK_PYTHON"] = python
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*paths, *_given_path()]))
    # PySpark sets it for some of the workers only, which then could not be shared either.
    os.environ.setdefault("PYTHONHASHSEED", "0")
    # glibc gives each new thread of the JVM another arena, and what is freed in one is not used by
    # others: an idle job grew by 15 MB an hour. Two cores have 16 arenas by default.
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    # With pinned threads the callbacks' server cannot be given a token (`_ask_for_token`).
    os.environ[_PIN_THREAD] = "false"


def _start_template(scratch: Path, log: Path) -> None:
    """Let Spark's Python processes be forks of a template; without one each imports its modules.

    The environment of a JVM that runs already, under `spark-submit`, has none.
    """
    if _GATEWAY_PORT not in os.environ:
        try:
            template = worker_template.start(scratch, log, os.environ)
        except OSError as error:
            _log.debug("no template: %r", error)
        else:
            _templates.append(template)
            atexit.register(template.end)
            os.environ["PYSPARK_PYTHON"] = template.program


def _ask_for_token(spark: SparkSession) -> None:
    """Restrict the callbacks' server, a TCP port of this process, to calls of the JVM.

    It starts with the first `foreachBatch`; the JVM already sends the gateway's token to it.
    """
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001  # PySpark has no public handle
    gateway.callback_server_parameters.auth_token = gateway.gateway_parameters.auth_token


def _look_up_nothing(spark: SparkSession) -> None:
    """Keep the first use of a data source from searching all packages for others (`pyspark_*`).

    Spark does that in two Python processes, and waits for them: 2 s of a start on a busy machine.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001  # PySpark has no public way to the JVM
    # Another release of Spark may keep them elsewhere: then it searches.
    with suppress(Py4JError, TypeError):
        none = _scala_object(jvm, "scala.collection.immutable.Map").empty()
        manager = _scala_object(jvm, "org.apache.spark.sql.execution.datasources.DataSourceManager")
        getattr(manager, "dataSourceBuilders_$eq")(jvm.scala.Option.apply(none))


def _scala_object(jvm: Any, name: str) -> Any:  # noqa: ANN401  # PySpark has no types for it
    return getattr(getattr(jvm, f"{name}$"), "MODULE$")


def _is_news(record: logging.LogRecord) -> bool:
    """Drop the record of an exception in the sink, which the query raises, or of a JVM that ended.

    Drop the traceback of others, such as that of an unknown client's connection.
    """
    record.exc_info = None
    return not record.getMessage().startswith(
        (
            "There was an exception while executing the Python",
            "An error occurred while trying to connect to the Java server",
        )
    )


@contextmanager
def _in_advance() -> Iterator[None]:
    """Log any error of a step that only saves time: the query meets the same error and reports it.

    If the session ends meanwhile, PySpark's own attributes are None.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001
        _log.debug("not prepared: %r", error)


def _start_workers(spark: SparkSession) -> None:
    """Run a task in each worker that does nothing."""
    context = spark.sparkContext
    with _in_advance():
        tasks = context.defaultParallelism
        context.parallelize(range(tasks), tasks).foreachPartition(_nothing)


def _start_reflection(spark: SparkSession) -> None:
    """Initialize Scala's reflection, which the first request for state otherwise waits for.

    0.4 s of processor time, while the query waits for Python processes.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001  # PySpark has no public way to the JVM
    with _in_advance():
        _scala_object(jvm, "scala.reflect.runtime.package").universe()


def _nothing(rows: Iterable[int]) -> None:
    """The function of a task that only starts its worker."""


def _start(log: Path, java_options: tuple[str, ...], deployment: Deployment) -> SparkSession:
    create_private()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= files < _FILES_MIN:
        raise CannotDeploy(
            f"this process can open {files} files, and Spark needs {_FILES_MIN}: raise the limit:"
            " ulimit -n 4096 (systemd: LimitNOFILE)"
        )
    log.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="kraftgate-spark-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    given = {**_submitted(), **deployment.settings}
    cores = min(os.cpu_count() or 1, 8)
    master = deployment.master or given.get("spark.master") or f"local[{cores}]"
    remote = not master.startswith("local")
    settings = {
        **SETTINGS,
        **(
            _on_a_cluster(scratch, given)
            if remote
            else _on_this_machine(scratch, log, java_options)
        ),
        **given,
    }
    if deployment.secret_file is not None and _GATEWAY_PORT in os.environ:
        settings[_SECRET] = first_line(deployment.secret_file)
    if remote:
        # The driver's own workers run the executors' program, which may be another Python.
        python = f"python{sys.version_info.major}.{sys.version_info.minor}"
        _set_environment(given.get("spark.pyspark.python", python), _installed())
        _require_secret(master, settings, deployment)
        _require_submitted()
    else:
        _set_environment(sys.executable, [_house()])
        _start_template(scratch, log)
    builder = SparkSession.builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    threading.Thread(target=_import_meanwhile, daemon=True).start()
    with (
        _output_to(log),
        _environment("SPARK_HOME", _home()),
        _environment(_ARGUMENTS, _secret(deployment, scratch)),
        _environment(LAUNCHER_OPTIONS, _launcher_options()),
        # Its Python processes import nothing from the working directory, which may be another's.
        _environment("PYTHONSAFEPATH", "1"),
        _environment(_LOCAL_IP, os.environ.get(_LOCAL_IP) if remote else _LOOPBACK),
        _left_to_us(),
        _interruptible(),
        _ended_unless_started(scratch),
    ):
        return builder.getOrCreate()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Keep this process's handling of Ctrl-C, which PySpark and Py4J change at their start.

    PySpark installs a handler for SIGINT. When a call is interrupted, Py4J logs that to the
    terminal and calls a method that its connections lack without pinned threads.
    """
    GatewayConnection.shutdown_socket = lambda connection, *_: connection.close()
    logging.getLogger().addFilter(_is_not_of_a_call)
    logging.getLogger("py4j.java_gateway").addFilter(_is_news)
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _is_not_of_a_call(record: logging.LogRecord) -> bool:
    """Drop the record, of the root logger, of a call that failed: the caller gets the error."""
    return not record.getMessage().endswith("while sending command.")


@contextmanager
def _ended_unless_started(scratch: Path) -> Iterator[None]:
    """Kill a JVM whose start is interrupted, such as by Ctrl-C; `scratch` is in its arguments.

    PySpark deletes the directory for the JVM's answer. The JVM's main thread fails then, and others
    keep it running.
    """
    try:
        yield
    except BaseException:
        for each in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if any(str(scratch) in argument for argument in each.cmdline()):
                    each.kill()
                    _forget_jvm()
        _end_templates()
        raise


def import_meanwhile(*names: str) -> None:
    """Let `session` import modules of the caller, too, while the JVM starts."""
    _MEANWHILE.extend(names)


def _import_meanwhile() -> None:
    """Import, while the JVM starts, the modules that this process needs after the start."""
    for name in _MEANWHILE:
        with suppress(ImportError):  # its user imports it again, and reports that
            import_module(name)


def _submitted() -> dict[str, str]:
    """Return the settings of the command line of `spark-submit`; none: it did not start this."""
    if _GATEWAY_PORT not in os.environ:
        return {}
    SparkContext._ensure_initialized()  # noqa: SLF001  # PySpark has no public way to the JVM's
    return dict(SparkConf().getAll())


def _on_this_machine(scratch: Path, log: Path, java_options: tuple[str, ...]) -> dict[str, str]:
    log4j = resources.files("streams.spark").joinpath("log4j2.properties")
    java = [*_JAVA, f"-Dlog4j2.configurationFile={log4j}", *_error_file(log), *java_options]
    archive = class_archive()
    if not java_options and archive.is_file():
        java.append(f"-XX:SharedArchiveFile={archive}")
    unsigned = unsigned_jars()
    return (
        {
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.driver.extraJavaOptions": " ".join(java),
            "spark.local.dir": str(scratch),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        }
        | ({"spark.driver.extraClassPath": f"{unsigned}/*"} if unsigned.is_dir() else {})
        # One of these sockets is left to the end of the process; the default is /tmp.
        | ({_SOCKETS: str(scratch)} if len(str(scratch)) <= _SOCKETS_LENGTH_MAX else {})
    )


def _error_file(log: Path) -> tuple[str, ...]:
    """Return the option by which a JVM that crashes writes its report next to its log.

    A later crash overwrites the report. Spark splits the options at blanks and interprets quotes
    and `${`, HotSpot `%`: with such a path the report is in the working directory, as by default.
    So it is with a temporary log: `replay` deletes its directory.
    """
    file = log.resolve().with_name("hs_err.log")
    if file.is_relative_to(Path(tempfile.gettempdir()).resolve()) or not _PLAIN_PATH.fullmatch(
        str(file)
    ):
        return ()
    return (f"-XX:ErrorFile={file}",)


def _on_a_cluster(scratch: Path, given: Mapping[str, str]) -> dict[str, str]:
    settings = {"spark.sql.warehouse.dir": str(scratch / "warehouse")}
    if "spark.archives" not in given:
        archive = scratch / f"{PACKAGES}.tar"
        write_archive(archive)
        settings["spark.archives"] = f"{archive}#{PACKAGES}"
        settings["spark.executorEnv.PYTHONPATH"] = PACKAGES
    return settings


def _require_secret(master: str, settings: Mapping[str, str], deployment: Deployment) -> None:
    """Check that the connections to a standalone cluster have a secret; other managers create it.

    Raises:
        CannotDeploy: they have none.
    """
    if (
        master.startswith("spark:")
        and settings["spark.authenticate"] == "true"
        and deployment.secret_file is None
        and _SECRET not in settings
    ):
        raise CannotDeploy(
            f"the connections to {master} need the cluster's secret: name its file in"
            " `run.spark.secret_file`, or, on a network of your own, set `spark.authenticate` and"
            ' `spark.network.crypto.enabled` to "false" in `run.spark.settings`'
        )


def _require_submitted() -> None:
    """Check the variables with which `spark-submit` was started; its JVM has read them.

    Raises:
        CannotDeploy: the JVM's workers do not find Kraftgate, or the callbacks' server cannot be
            given a token.
    """
    if _GATEWAY_PORT not in os.environ:
        return
    jvm: Any = SparkContext._jvm  # noqa: SLF001  # PySpark has no public way to the JVM
    paths = _installed()
    given = (jvm.java.lang.System.getenv("PYTHONPATH") or "").split(os.pathsep)
    pinned = jvm.java.lang.System.getenv(_PIN_THREAD) != "false"
    if pinned or not set(paths) <= set(given):
        raise CannotDeploy(
            f"start spark-submit with PYTHONPATH={os.pathsep.join(paths)} and {_PIN_THREAD}=false"
        )


def _launcher_options() -> str | None:
    archive = launcher_archive()
    return os.environ.get(LAUNCHER_OPTIONS) or (
        " ".join([*_JAVA, f"-XX:SharedArchiveFile={archive}"]) if archive.is_file() else None
    )


def _secret(deployment: Deployment, scratch: Path) -> str | None:
    """Return the arguments by which PySpark starts the JVM with the secret, from a private file.

    PySpark passes every other setting as an argument, which all users of the host can read.

    Raises:
        SecretFileRefused: the secret's file cannot be used.
    """
    if deployment.secret_file is None or _GATEWAY_PORT in os.environ:
        return os.environ.get(_ARGUMENTS)
    file = scratch / "spark.properties"
    file.write_text(f"{_SECRET} {first_line(deployment.secret_file)}\n", encoding="utf-8")
    return f"--properties-file {file} pyspark-shell"


def _home() -> str | None:
    """Return a SPARK_HOME without pyspark.zip, so that the workers use the installed package.

    From the archive every one of the dozen Python processes would compile PySpark again, since a
    zip does not store byte code: 0.6 s each. The path is always the same, otherwise the archive of
    classes would not match. Under `spark-submit` the JVM runs already, with its own home.
    """
    if _GATEWAY_PORT in os.environ:
        return os.environ.get("SPARK_HOME")
    installed = Path(pyspark.__file__).resolve().parent
    home = _cache().with_suffix(".home")
    create_in_cache(home)
    # The JVM runs the files there, and the archive of classes next to them.
    check_way(home / "jars")
    for part in ("bin", "jars"):
        with suppress(FileExistsError):
            (home / part).symlink_to(installed / part)
    return str(home)


_leaving: Final = threading.Event()


def _ignore_signals() -> None:
    if _leaving.is_set():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


# Runs in a child between fork and exec, if there is a preexec_fn: PySpark has one for the JVM.
os.register_at_fork(after_in_child=_ignore_signals)


@contextmanager
def _left_to_us() -> Iterator[None]:
    """Make a JVM that starts in this context ignore SIGTERM and SIGHUP.

    It ends with its standard input. systemd sends SIGTERM to each process of a unit, a shell to a
    process group, and a terminal that is closed SIGHUP. A JVM that ended by itself would abort the
    query before it was stopped. HotSpot leaves a signal ignored that was ignored when it started,
    as PySpark uses it for SIGINT.
    """
    _leaving.set()
    try:
        yield
    finally:
        _leaving.clear()


@contextmanager
def _environment(name: str, value: str | None) -> Iterator[None]:
    """Set a variable for the JVM that starts in this context only; None: it has none."""
    before = os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Redirect the output of the JVM and its Python workers, which inherit it, to a file.

    They write by file descriptor, not through Python's handlers, and would write into the live view
    and into JSON.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with log.open("ab") as file:
        try:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            yield
        finally:
            for descriptor, number in zip(kept, (1, 2), strict=True):
                os.dup2(descriptor, number)
                os.close(descriptor)


def java_of(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the java program that Spark starts; None: there is none on the PATH."""
    home = environ.get("JAVA_HOME")
    return (
        str(Path(home, "bin", "java")) if home else shutil.which("java", path=environ.get("PATH"))
    )


def why_no_jvm(log: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Return the problem with Java, or else why the JVM ended, with the fix of that cause.

    `log`: the file with the JVM's output.
    """
    home = environ.get("JAVA_HOME")
    java = java_of(environ)
    if java is None:
        return f"there is no java on the PATH and JAVA_HOME is not set: {_FIX}"
    named = f"JAVA_HOME is {home}" if home else f"java is {java}"
    if not os.access(java, os.X_OK):
        return f"{named}, and {java} is not a program: correct or unset JAVA_HOME. {_FIX}"
    flaw = flaw_of(java)
    if flaw is not None:
        return f"{named}: {flaw}. {(_fix_of(flaw) or _FIX).format(log=log)}"
    lines = _output(log)
    last = next((each for each in reversed(lines) if _fix_of(each)), None)
    printed = last or (lines[-1] if lines else "it printed nothing")
    return f"{named}: the JVM ended: {printed}. {(_fix_of(printed) or _UNKNOWN).format(log=log)}"


def _fix_of(line: str) -> str | None:
    return next((fix for part, fix in _CAUSES if part in line), None)


def _output(log: Path) -> list[str]:
    """Return the last lines of the JVM's output, without calls; none: it printed nothing."""
    try:
        text = log.read_text("utf-8", errors="replace")
    except OSError:
        return []
    lines = [each for each in text.strip().splitlines() if not each.startswith("\tat ")]
    return lines[-_LINES_MAX:]
