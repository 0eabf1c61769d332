"""A broker without a process: what a controller needs to hear of one, and assignments at any rate.

Registers over the raw protocol with two log directories, keeps its heartbeats, creates a topic on
itself and then says again and again where its replicas are (AssignReplicasToDirs), to and fro
between the two: one PartitionChangeRecord each, the record that Kraftgate is about.
"""

import socket
import threading
import uuid
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, Final, Self

from kio.schema.assign_replicas_to_dirs.v0 import request as assign
from kio.schema.assign_replicas_to_dirs.v0.response import AssignReplicasToDirsResponse
from kio.schema.broker_heartbeat.v1.request import BrokerHeartbeatRequest
from kio.schema.broker_heartbeat.v1.response import BrokerHeartbeatResponse
from kio.schema.broker_registration.v4 import request as registration
from kio.schema.broker_registration.v4.response import BrokerRegistrationResponse
from kio.schema.create_topics.v7 import request as topics
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.schema.errors import ErrorCode
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.schema.types import BrokerId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i16, i32, i64, u16

from tests.bench.live import wait_until
from tests.bench.measure import MeasuringFailed

ID: Final = 1
_METADATA_VERSION: Final = 21
_TIMEOUT_S: Final = 20.0
_HEARTBEAT_S: Final = 2.0


class _Connection:
    """One blocking connection: a request, its reply."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sent = 0

    def ask(self, request: Any, reply: type) -> Any:
        self._sent += 1
        header = RequestHeader(
            request_api_key=i16(request.__api_key__),
            request_api_version=i16(request.__version__),
            correlation_id=i32(self._sent),
            client_id="kraftgate-bench",
        )
        with BytesIO() as out:
            entity_writer(RequestHeader)(out, header)
            entity_writer(type(request))(out, request)
            body = out.getvalue()
        self._socket.sendall(len(body).to_bytes(4, "big") + body)
        answer = self._receive(int.from_bytes(self._receive(4), "big"))
        _, size = entity_reader(ResponseHeader)(answer, 0)
        return entity_reader(reply)(answer, size)[0]

    def close(self) -> None:
        self._socket.close()

    def _receive(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise MeasuringFailed("the controller closed the connection")
            parts += part
        return bytes(parts)


class StubBroker:
    """The broker; a context manager.

    Args:
        controller: Address of the active controller.
        cluster_id: The cluster it registers with.
        log_end: Asked for the metadata log's end, as a broker that has caught up would know it.
    """

    def __init__(self, controller: str, cluster_id: str, log_end: Callable[[], int]) -> None:
        self._controller = controller
        self._cluster_id = cluster_id
        self._log_end = log_end
        self._asking = _Connection(controller)
        self._directories = (uuid.uuid4(), uuid.uuid4())
        self._epoch = -1
        self._topic_id: uuid.UUID | None = None
        self._over = threading.Event()
        self._stopped_by: Exception | None = None
        self.heartbeats = threading.Thread(target=self._beat, name="heartbeats", daemon=True)

    def __enter__(self) -> Self:
        """Register and come up."""
        version = i16(_METADATA_VERSION)
        answer = self._asking.ask(
            registration.BrokerRegistrationRequest(
                broker_id=BrokerId(ID),
                cluster_id=self._cluster_id,
                incarnation_id=uuid.uuid4(),
                listeners=(
                    registration.Listener(
                        name="PLAINTEXT",
                        host="127.0.0.1",
                        port=u16(1),
                        security_protocol=i16(0),
                    ),
                ),
                features=(
                    registration.Feature(
                        name="metadata.version",
                        min_supported_version=i16(1),
                        max_supported_version=version,
                    ),
                ),
                rack=None,
                log_dirs=self._directories,
            ),
            BrokerRegistrationResponse,
        )
        _accepted("the registration", answer.error_code)
        self._epoch = answer.broker_epoch
        wait_until("the stub broker", lambda: self._heartbeat(self._asking), _TIMEOUT_S)
        self.heartbeats.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Fall silent."""
        self._over.set()
        if self.heartbeats.is_alive():
            self.heartbeats.join()
        self._asking.close()

    def create_topic(self, partitions: int) -> None:
        """Make a topic whose partitions are all here."""
        answer = self._asking.ask(
            topics.CreateTopicsRequest(
                topics=(
                    topics.CreatableTopic(
                        name=TopicName("bench"),
                        num_partitions=i32(partitions),
                        replication_factor=i16(1),
                        assignments=(),
                        configs=(),
                    ),
                )
            ),
            CreateTopicsResponse,
        )
        _accepted("the topic", answer.topics[0].error_code)
        self._topic_id = answer.topics[0].topic_id

    def assign(self, partitions: Sequence[int], directory: int) -> None:
        """Say that the partitions are in the first (0) or the second (1) directory.

        Raises:
            MeasuringFailed: the controller refused an assignment, or the heartbeats have ended.
        """
        if self._stopped_by is not None:
            raise MeasuringFailed(f"the heartbeats ended: {self._stopped_by}")
        answer = self._asking.ask(
            assign.AssignReplicasToDirsRequest(
                broker_id=BrokerId(ID),
                broker_epoch=i64(self._epoch),
                directories=(
                    assign.DirectoryData(
                        id_=self._directories[directory],
                        topics=(
                            assign.TopicData(
                                topic_id=self._topic_id,
                                partitions=tuple(
                                    [
                                        assign.PartitionData(partition_index=i32(each))
                                        for each in partitions
                                    ]
                                ),
                            ),
                        ),
                    ),
                ),
            ),
            AssignReplicasToDirsResponse,
        )
        _accepted("the assignments", answer.error_code)
        for one in answer.directories[0].topics[0].partitions:
            _accepted(f"the assignment of partition {one.partition_index}", one.error_code)

    def _beat(self) -> None:
        try:
            connection = _Connection(self._controller)
            while not self._over.wait(_HEARTBEAT_S):
                self._heartbeat(connection)
            connection.close()
        except (MeasuringFailed, OSError) as error:
            self._stopped_by = error

    def _heartbeat(self, connection: _Connection) -> bool:
        """Whether the controller lets the broker work."""
        answer = connection.ask(
            BrokerHeartbeatRequest(
                broker_id=BrokerId(ID),
                broker_epoch=i64(self._epoch),
                current_metadata_offset=i64(max(self._log_end(), self._epoch)),
                want_fence=False,
                want_shut_down=False,
            ),
            BrokerHeartbeatResponse,
        )
        # A busy controller gives a heartbeat up after half its interval (ControllerApis), and a
        # broker sends the next one (BrokerLifecycleManager); its session bounds that.
        if answer.error_code is ErrorCode.request_timed_out:
            return False
        _accepted("the heartbeat", answer.error_code)
        return not answer.is_fenced


def _accepted(what: str, code: Any) -> None:
    if int(code) != 0:
        raise MeasuringFailed(f"the controller refused {what}: {code!r}")
