"""A follower copies the generated logs as it copies a controller's."""

from pathlib import Path

from streams.metadata.follower import Follower
from streams.metadata.spool import Spool
from streams.net.endpoint import Endpoint
from streams.net.listener import Listener
from streams.wire.batches import read_batches
from tests.bench.stub_controller import _NO_OP, StubControllers
from tests.support.polling import until
from tests.support.wire_writing import write_batch, write_leader_change


def test_a_follower_gets_what_was_there_and_what_is_appended(tmp_path: Path) -> None:
    begun = write_leader_change(0, 7, 1000, 3000) + write_batch(1, 7, 2000, [_NO_OP])
    with StubControllers(begun, 2) as controllers:
        _, address = controllers.addresses
        listener = Listener(tuple(Endpoint.parse_list(address)))
        spool = Spool(tmp_path)
        with Follower(listener, spool) as follower:
            until(lambda: follower.position.next_offset >= 2)
            offset, moment = controllers.append(1, _NO_OP)
            until(lambda: follower.position.next_offset > offset)
            assert follower.status().error is None
        spool.close()
    copied = b"".join(each.read_bytes() for each in sorted(tmp_path.glob("*.log")))
    batches = {each.base_offset: each for each in read_batches(copied, file="copy", position=0)}
    assert copied.startswith(begun)
    assert batches[offset].max_timestamp == moment
