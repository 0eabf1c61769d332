"""Spark's checkpoint after a power cut: its files may be empty, cut off, or zeros."""

from pathlib import Path

import pytest

from streams.spark.checkpoint import DamagedCheckpoint, join_sources, query_id


@pytest.mark.parametrize("content", [b"", b'{"id":"4f', b"\0" * 64, b"\xff", b"[]", b"{}"])
def test_a_damaged_id_is_one_line_with_the_file_and_the_fix(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "metadata").write_bytes(content)
    with pytest.raises(DamagedCheckpoint, match="or remove it to start afresh") as raised:
        query_id(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path}/metadata of Spark's checkpoint is damaged")


@pytest.mark.parametrize(
    "content", [b"", b"v1\n", b'v1\n{}\n{"prod', b"\0" * 64, b"\xff", b"v1\n{}\n[1]"]
)
def test_damaged_offsets_are_too(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "7").write_bytes(content)
    with pytest.raises(DamagedCheckpoint, match=r"offsets/7 of Spark's checkpoint is damaged"):
        join_sources(tmp_path, ["kraft_metadata:prod"])


def test_without_a_checkpoint_there_is_no_id(tmp_path: Path) -> None:
    assert query_id(tmp_path) is None
    join_sources(tmp_path, [])
