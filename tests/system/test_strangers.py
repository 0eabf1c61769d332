"""Another local user reaches the ports of a running job, and nothing behind them.

The messages are Spark's own: org.apache.spark.network.protocol (frames), NettyRpcEnv's
RequestMessage, UploadBlock; what they carry is a serialized Java object of a class that is not
there, so that an attempt to load it shows.
"""

import os
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from streams.spark.query import replay
from tests.support.wire_writing import write_leader_change
from tests.system import stranger

pytestmark = [pytest.mark.spark, pytest.mark.long(minutes=3)]

_CLASS = b"org.example.OfAStranger"
_OBJECT = (
    bytes.fromhex("aced00057372")
    + struct.pack(">H", len(_CLASS))
    + _CLASS
    + bytes.fromhex("00000000000000010200007870")
)


def _string(text: bytes) -> bytes:
    return struct.pack(">i", len(text)) + text


def _call(body: bytes) -> bytes:
    """A frame with an RPC request (3), its number, and its body."""
    message = b"\x03" + struct.pack(">qi", 7, len(body)) + body
    return struct.pack(">q", 8 + len(message)) + message


def _utf(text: bytes) -> bytes:
    return struct.pack(">H", len(text)) + text


def _to_endpoint(port: int) -> bytes:
    """What NettyRpcHandler reads: no sender, the endpoint's address and name, the object."""
    address = b"\x01" + _utf(b"127.0.0.1") + struct.pack(">i", port)
    return b"\x00" + address + _utf(b"HeartbeatReceiver") + _OBJECT


def _upload() -> bytes:
    """UploadBlock: application, executor, block, its metadata (a serialized object), its data."""
    names = _string(b"app") + _string(b"driver") + _string(b"broadcast_99")
    return b"\x01" + names + _string(_OBJECT) + _string(b"data")


def _answer(port: int, sent: bytes) -> bytes:
    """What a process of another user gets; without root it is one of ours, without the secret."""
    ran = subprocess.run(
        [sys.executable, stranger.__file__, str(port)],
        input=sent,
        capture_output=True,
        check=True,
        timeout=120.0,
    )
    return ran.stdout


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The session after a job: its ports and workers stay until the process ends."""
    os.umask(0o022)
    folder = tmp_path_factory.mktemp("log")
    log = folder / f"{0:020d}.log"
    log.write_bytes(write_leader_change(0, 1, 1, 3000))
    assert replay(log, folder / "state").damage is None
    return SparkSession.active()


@pytest.fixture(scope="module")
def gateway(spark: SparkSession) -> Any:
    return spark.sparkContext._gateway


@pytest.fixture(scope="module")
def rpc_port(spark: SparkSession) -> int:
    return int(spark.sparkContext.getConf().get("spark.driver.port") or 0)


def _listening(process: psutil.Process) -> set[tuple[str, int]]:
    try:
        found = process.net_connections(kind="tcp")
    except psutil.NoSuchProcess:  # a worker that had nothing more to do
        return set()
    return {
        (each.laddr.ip.removeprefix("::ffff:"), each.laddr.port)
        for each in found
        if each.status == psutil.CONN_LISTEN
    }


@pytest.fixture(scope="module")
def block_port(gateway: Any, rpc_port: int) -> int:
    (other,) = {port for _, port in _listening(psutil.Process(gateway.proc.pid))} - {
        gateway.gateway_parameters.port,
        rpc_port,
    }
    return other


def test_the_driver_loads_no_class_that_a_stranger_names(rpc_port: int) -> None:
    answer = _answer(rpc_port, _call(_to_endpoint(rpc_port)))
    assert _CLASS not in answer
    assert b"ClassNotFoundException" not in answer
    assert b"Unknown challenge message" in answer


def test_the_block_manager_loads_no_class_that_a_stranger_names(block_port: int) -> None:
    answer = _answer(block_port, _call(_upload()))
    assert _CLASS not in answer
    assert b"Unknown challenge message" in answer


def test_a_stranger_calls_no_python_callback(gateway: Any) -> None:
    port, objects = gateway._callback_server.port, gateway.gateway_property.pool.dict
    command = b"c\n" + next(iter(objects)).encode() + b"\ntoString\ne\n"
    assert _answer(port, command) == b""
    assert _answer(port, b"A\nnot-the-token\ne\n" + command) == b"!xn\n"


def test_a_stranger_calls_nothing_of_the_gateway(gateway: Any) -> None:
    answer = _answer(gateway.gateway_parameters.port, b"c\nj\ngetClass\ne\n")
    assert not answer.startswith(b"!y")


def test_every_listening_socket_is_known(gateway: Any, rpc_port: int, block_port: int) -> None:
    """On loopback each, and asking for a secret each: see the tests above."""
    jvm = psutil.Process(gateway.proc.pid)
    ports = {gateway.gateway_parameters.port, rpc_port, block_port}
    known = {("127.0.0.1", port) for port in ports}
    assert _listening(jvm) == known
    assert ("127.0.0.1", gateway._callback_server.port) in _listening(psutil.Process())
    for worker in jvm.children(recursive=True):
        assert _listening(worker) <= known  # a child has them until it closes what it inherits


def _sockets(gateway: Any) -> Iterator[Path]:
    jvm = psutil.Process(gateway.proc.pid)
    for process in (psutil.Process(), jvm, *jvm.children(recursive=True)):
        try:
            found = process.net_connections(kind="unix")
        except psutil.NoSuchProcess:
            continue
        for each in found:
            path = Path(str(each.laddr))
            if path.is_absolute() and path.is_socket():
                yield path


def test_the_workers_sockets_are_private(gateway: Any) -> None:
    found = set(_sockets(gateway))
    assert found
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in found} == {0}


def test_the_secret_is_nowhere_where_others_read(spark: SparkSession, gateway: Any) -> None:
    conf = dict(spark.sparkContext.getConf().getAll())
    assert conf["spark.authenticate"] == "true"
    assert not [key for key in conf if "secret" in key]
    jvm = psutil.Process(gateway.proc.pid)
    assert not [each for each in jvm.cmdline() if "secret" in each.lower()]
    assert not [name for name in jvm.environ() if "SECRET" in name]


@pytest.mark.usefixtures("spark")
def test_the_checkpoint_is_private(tmp_path: Path) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(write_leader_change(0, 1, 1, 3000))
    replay(log, tmp_path / "state")
    found = [
        Path(folder, name)
        for folder, *names in os.walk(tmp_path / "state")
        for name in (*names[0], *names[1])
    ]
    assert any(path.name == "metadata" for path in found)
    assert [path for path in found if path.lstat().st_mode & 0o077] == []
