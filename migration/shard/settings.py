"""The settings of a shard: those of the resources whose names hash to it."""

from typing import TypeAlias

from migration.comparison.zookeeper import TOPIC_RESOURCE
from migration.metadata.records import Config
from migration.shard.records import TopicName

Settings: TypeAlias = dict[tuple[int, str], dict[str, bytes]]
"""By type and name of the resource: key -> digest of the value."""


def take_config(settings: Settings, record: Config) -> None:
    """Set or delete a key; a resource without keys is removed."""
    of = (record.resource_type, record.resource_name)
    if record.digest is not None:
        settings.setdefault(of, {})[record.name] = record.digest
    elif of in settings:
        settings[of].pop(record.name, None)
        if not settings[of]:
            del settings[of]


def take_name(names: dict[bytes, str], settings: Settings, record: TopicName) -> None:
    """Store a topic's name; a deleted topic loses its settings (ConfigurationsDelta)."""
    if record.name is not None:
        names[record.topic_id] = record.name
        return
    name = names.pop(record.topic_id, None)
    if name is not None:
        settings.pop((TOPIC_RESOURCE, name), None)
