"""The committed schema module is what Kafka's jar says."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.support.record_schemas import (
    SCHEMA,
    SchemaNotUnderstood,
    generate,
    read_schemas,
    snake,
    versions,
)


def jar(tmp_path: Path, **changes: object) -> Path:
    """A jar with one schema."""
    record: dict[str, object] = {
        "apiKey": 99,
        "type": "metadata",
        "name": "ThingRecord",
        "validVersions": "0-1",
        "flexibleVersions": "0+",
        "fields": [
            {"name": "KRaftId", "type": "int32", "versions": "0+", "about": "An id."},
            {"name": "Dirs", "type": "[]uuid", "versions": "1+", "taggedVersions": "1+",
             "tag": "2", "about": "Directories."},
        ],
    }  # fmt: skip
    path = tmp_path / "schemas.jar"
    with zipfile.ZipFile(path, "w") as archive:
        text = "// Licensed\n" + json.dumps(record | changes).replace(
            ', "type"', ',\n  // why\n"type"', 1
        )
        archive.writestr("common/metadata/ThingRecord.json", text)
        archive.writestr("other.json", "not read")
    return path


def test_a_field_that_a_version_lacks_is_not_there(tmp_path: Path) -> None:
    text = generate(jar(tmp_path))
    first, second = text.split("class ThingRecordV1")
    assert "dirs" not in first
    assert 'field(\n        metadata={"kafka_type": "uuid", "tag": 2}, default=()\n    )' in second
    assert "k_raft_id: i32" in first


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "request"},
        {"flexibleVersions": "1+"},
        {
            "fields": [
                {"name": "A", "type": "string", "versions": "0+", "default": "x", "about": ""}
            ]
        },
    ],
)
def test_what_is_not_understood_is_an_error(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(SchemaNotUnderstood):
        generate(jar(tmp_path, **changes))


def test_a_jar_without_schemas_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.jar"
    zipfile.ZipFile(path, "w").close()
    with pytest.raises(SchemaNotUnderstood, match="is it kafka-metadata"):
        read_schemas(path)


def test_versions_and_names_are_read_as_kafka_writes_them() -> None:
    assert 1 in versions("1+")
    assert 0 not in versions("1+")
    assert [v for v in range(5) if v in versions("1-2")] == [1, 2]
    assert 0 not in versions("none")
    assert snake("IsMigratingZkBroker") == "is_migrating_zk_broker"


@pytest.mark.lab
@pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")  # kafka-python
def test_the_committed_module_is_what_the_jar_gives() -> None:
    from orchestrator.lab.machine.jars import ensure_jars

    jars = ensure_jars()
    [metadata] = [name for name in jars.names if name.startswith("kafka-metadata-")]
    assert generate(jars.directory / metadata) == SCHEMA.read_text()
