"""Kafka's znodes, below the chroot (Kafka 3.9, ZkData.scala)."""

from typing import Final

CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
MIGRATION: Final = "/migration"
CLUSTER_ID: Final = "/cluster/id"
REASSIGN_PARTITIONS: Final = "/admin/reassign_partitions"
BROKER_IDS: Final = "/brokers/ids"
DELETE_TOPICS: Final = "/admin/delete_topics"
TOPICS: Final = "/brokers/topics"
CONFIGS: Final = "/config"
TOPIC_CONFIGS: Final = "/config/topics"
BROKER_CONFIGS: Final = "/config/brokers"
USER_CONFIGS: Final = "/config/users"
CLIENT_CONFIGS: Final = "/config/clients"
IP_CONFIGS: Final = "/config/ips"
NOTIFICATIONS: Final = "/log_dir_event_notification"

DATA: Final = (CONTROLLER, CONTROLLER_EPOCH, MIGRATION, CLUSTER_ID, REASSIGN_PARTITIONS)
"""Znodes whose data is read, whether they exist or not."""

BRANCHES: Final = (BROKER_IDS, DELETE_TOPICS)
"""Znodes whose children are read, each with its data."""


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def config_name(entity: str, name: str) -> str:
    """Return the resource name in the metadata log of a znode below `/config/ENTITY`.

    The default of all brokers has an empty name there (ConfigRecord).
    """
    return "" if (entity, name) == ("brokers", "<default>") else name
