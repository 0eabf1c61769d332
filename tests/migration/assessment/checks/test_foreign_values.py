"""Values from brokers and files are validated; an invalid one is named and preflight goes on."""

from pathlib import Path

import pytest

from streams.kafka.errors import ReplyDamaged
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.probe.brokers import _read_meta


@pytest.mark.parametrize("text", ["9" * 5000, "2147483648", "-1", "٣", "²", "+1", "1.0", ""])
def test_a_node_id_that_is_none_is_not_known(text: str, tmp_path: Path) -> None:
    """int() raises ValueError above 4300 digits, and accepts digits of any script."""
    (tmp_path / "meta.properties").write_text(f"cluster.id=C\nnode.id={text}\n", "utf-8")
    found = _read_meta(str(tmp_path))
    assert found is not None
    assert (found.node_id, found.cluster_id) == (None, "C")


@pytest.mark.parametrize("text", [None, "", "two", "1e3", "9" * 5000])
def test_a_min_isr_that_is_no_number_is_a_damaged_reply(text: str | None) -> None:
    node = Node.__new__(Node)
    node.endpoint = Endpoint("b1", 9092)
    with pytest.raises(ReplyDamaged, match=r"^b1:9092 describes topic orders: its min\.insync"):
        node._number("orders", text)
    assert node._number("orders", "2") == 2
