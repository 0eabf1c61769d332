"""What the audit store keeps of its batches."""

from pathlib import Path

import msgpack

from migration.image.cluster import ClusterImage, summarize
from streams.state.store import KEPT_BATCHES, BatchResult, Store, pack_image, unpack_image


def result(cluster: str, place: dict[str, int]) -> BatchResult:
    image = ClusterImage()
    return BatchResult(
        cluster=cluster,
        image=image,
        summary=summarize(cluster, image),
        brokers=(),
        gone=(),
        place=place,
        events=(),
        files=(),
    )


def test_the_place_of_a_quiet_source_stays_however_many_batches_others_have(
    tmp_path: Path,
) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.commit(0, [result("a", {"zookeeper": 7}), result("b", {"jmx": 3})], 1)
        store.commit(1, [result("a", {"zookeeper": 9})], 1)
        for batch_id in (2 * KEPT_BATCHES, 4 * KEPT_BATCHES):
            store.commit(batch_id, [result("a", {"kraft_metadata": batch_id})], 1)
        assert store.place("a", "zookeeper") == 9
        assert store.place("a", "kraft_metadata") == 4 * KEPT_BATCHES
        assert store.place("b", "jmx") == 3
        assert store.applied(2 * KEPT_BATCHES) == {}


def test_old_batches_without_the_last_of_any_source_go(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        for batch_id in (0, 1, 2 * KEPT_BATCHES):
            store.commit(batch_id, [result("a", {"jmx": batch_id})], 1)
        assert [bool(store.applied(each)) for each in (0, 1, 2 * KEPT_BATCHES)] == [
            False,
            False,
            True,
        ]


def test_an_image_of_an_earlier_version_has_no_broker_that_left() -> None:
    packed = pack_image(ClusterImage(left=frozenset({1, 3})))
    assert unpack_image(packed).left == {1, 3}
    fields = msgpack.unpackb(packed, strict_map_key=False)
    del fields["left"]
    assert unpack_image(msgpack.packb(fields)) == ClusterImage()
