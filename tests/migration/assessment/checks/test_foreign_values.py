"""Values from brokers and files are validated; an invalid one is named and preflight goes on."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from migration.observed.probed import Unknown
from streams.kafka.errors import ReplyDamaged
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.probe import brokers
from streams.probe.brokers import _meta_properties, _read_meta


@pytest.mark.parametrize("text", ["9" * 5000, "2147483648", "-1", "٣", "²", "+1", "1.0", ""])
def test_a_node_id_that_is_none_is_not_known(text: str, tmp_path: Path) -> None:
    """int() raises ValueError above 4300 digits, and accepts digits of any script."""
    (tmp_path / "meta.properties").write_text(f"cluster.id=C\nnode.id={text}\n", "utf-8")
    found = _read_meta(str(tmp_path))
    assert not isinstance(found, Unknown)
    assert (found.node_id, found.cluster_id) == (None, "C")


def test_a_file_that_cannot_be_read_hides_no_other_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead disk blocks its reader for ever."""
    monkeypatch.setattr(brokers, "_READ_S_MAX", 2.0)
    for name in ("dead", "d0"):
        (tmp_path / name).mkdir()
    (tmp_path / "d0" / "meta.properties").write_text("cluster.id=C\nbroker.id=1\nversion=0\n")
    os.mkfifo(tmp_path / "dead" / "meta.properties")
    paths = [str(tmp_path / name) for name in ("dead", "gone", "d0")]
    files, unread = _meta_properties(1, "127.0.0.1", paths, "C")
    assert files is not None
    assert [each.path for each in files] == [paths[2]]
    assert unread[0] == f"{paths[0]}: reading takes over 2 s"
    assert "No such file or directory" in unread[1]
    with (tmp_path / "dead" / "meta.properties").open("w"):
        pass  # ends the reader


def test_a_topics_own_settings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"a": ("1", "true"), "b": ("2", "false"), "c": ("1", None)}

    def answer(_: Node, resources: Sequence[tuple[int, str]], names: Sequence[str]) -> object:
        for _type, topic in resources:
            configs = [
                SimpleNamespace(name=name, value=value)
                for name, value in zip(names, values[topic], strict=True)
            ]
            yield SimpleNamespace(error_code=0, resource_name=topic, configs=configs)

    monkeypatch.setattr(Node, "_configs", answer)
    found = Node.__new__(Node).topic_settings(values)
    assert found == ({"a": 1, "b": 2, "c": 1}, {"a"})


@pytest.mark.parametrize("text", [None, "", "two", "1e3", "9" * 5000])
def test_a_min_isr_that_is_no_number_is_a_damaged_reply(text: str | None) -> None:
    node = Node.__new__(Node)
    node.endpoint = Endpoint("b1", 9092)
    with pytest.raises(ReplyDamaged, match=r"^b1:9092 describes topic orders: its min\.insync"):
        node._number("orders", text)
    assert node._number("orders", "2") == 2
