"""The 25 metadata record types, every version.

Generated from Kafka 3.9's kafka-metadata jar
by `python -m streams.wire.generate`; do not edit.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from streams.wire.schema.abort_transaction_record import AbortTransactionRecordV0
from streams.wire.schema.access_control_entry_record import AccessControlEntryRecordV0
from streams.wire.schema.begin_transaction_record import BeginTransactionRecordV0
from streams.wire.schema.broker_registration_change_record import (
    BrokerRegistrationChangeRecordV0,
    BrokerRegistrationChangeRecordV1,
    BrokerRegistrationChangeRecordV2,
)
from streams.wire.schema.client_quota_record import ClientQuotaRecordV0
from streams.wire.schema.config_record import ConfigRecordV0
from streams.wire.schema.delegation_token_record import DelegationTokenRecordV0
from streams.wire.schema.end_transaction_record import EndTransactionRecordV0
from streams.wire.schema.feature_level_record import FeatureLevelRecordV0
from streams.wire.schema.fence_broker_record import FenceBrokerRecordV0
from streams.wire.schema.no_op_record import NoOpRecordV0
from streams.wire.schema.partition_change_record import (
    PartitionChangeRecordV0,
    PartitionChangeRecordV1,
    PartitionChangeRecordV2,
)
from streams.wire.schema.partition_record import (
    PartitionRecordV0,
    PartitionRecordV1,
    PartitionRecordV2,
)
from streams.wire.schema.producer_ids_record import ProducerIdsRecordV0
from streams.wire.schema.register_broker_record import (
    RegisterBrokerRecordV0,
    RegisterBrokerRecordV1,
    RegisterBrokerRecordV2,
    RegisterBrokerRecordV3,
)
from streams.wire.schema.register_controller_record import RegisterControllerRecordV0
from streams.wire.schema.remove_access_control_entry_record import RemoveAccessControlEntryRecordV0
from streams.wire.schema.remove_delegation_token_record import RemoveDelegationTokenRecordV0
from streams.wire.schema.remove_topic_record import RemoveTopicRecordV0
from streams.wire.schema.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecordV0,
)
from streams.wire.schema.topic_record import TopicRecordV0
from streams.wire.schema.unfence_broker_record import UnfenceBrokerRecordV0
from streams.wire.schema.unregister_broker_record import UnregisterBrokerRecordV0
from streams.wire.schema.user_scram_credential_record import UserScramCredentialRecordV0
from streams.wire.schema.zk_migration_state_record import ZkMigrationStateRecordV0

__all__ = [
    "RECORDS",
    "AbortTransactionRecordV0",
    "AccessControlEntryRecordV0",
    "BeginTransactionRecordV0",
    "BrokerRegistrationChangeRecordV0",
    "BrokerRegistrationChangeRecordV1",
    "BrokerRegistrationChangeRecordV2",
    "ClientQuotaRecordV0",
    "ConfigRecordV0",
    "DelegationTokenRecordV0",
    "EndTransactionRecordV0",
    "FeatureLevelRecordV0",
    "FenceBrokerRecordV0",
    "MetadataRecord",
    "NoOpRecordV0",
    "PartitionChangeRecordV0",
    "PartitionChangeRecordV1",
    "PartitionChangeRecordV2",
    "PartitionRecordV0",
    "PartitionRecordV1",
    "PartitionRecordV2",
    "ProducerIdsRecordV0",
    "RegisterBrokerRecordV0",
    "RegisterBrokerRecordV1",
    "RegisterBrokerRecordV2",
    "RegisterBrokerRecordV3",
    "RegisterControllerRecordV0",
    "RemoveAccessControlEntryRecordV0",
    "RemoveDelegationTokenRecordV0",
    "RemoveTopicRecordV0",
    "RemoveUserScramCredentialRecordV0",
    "TopicRecordV0",
    "UnfenceBrokerRecordV0",
    "UnregisterBrokerRecordV0",
    "UserScramCredentialRecordV0",
    "ZkMigrationStateRecordV0",
]

MetadataRecord: TypeAlias = (
    RegisterBrokerRecordV0
    | RegisterBrokerRecordV1
    | RegisterBrokerRecordV2
    | RegisterBrokerRecordV3
    | UnregisterBrokerRecordV0
    | TopicRecordV0
    | PartitionRecordV0
    | PartitionRecordV1
    | PartitionRecordV2
    | ConfigRecordV0
    | PartitionChangeRecordV0
    | PartitionChangeRecordV1
    | PartitionChangeRecordV2
    | FenceBrokerRecordV0
    | UnfenceBrokerRecordV0
    | RemoveTopicRecordV0
    | DelegationTokenRecordV0
    | UserScramCredentialRecordV0
    | FeatureLevelRecordV0
    | ClientQuotaRecordV0
    | ProducerIdsRecordV0
    | BrokerRegistrationChangeRecordV0
    | BrokerRegistrationChangeRecordV1
    | BrokerRegistrationChangeRecordV2
    | AccessControlEntryRecordV0
    | RemoveAccessControlEntryRecordV0
    | NoOpRecordV0
    | ZkMigrationStateRecordV0
    | RemoveUserScramCredentialRecordV0
    | BeginTransactionRecordV0
    | EndTransactionRecordV0
    | AbortTransactionRecordV0
    | RemoveDelegationTokenRecordV0
    | RegisterControllerRecordV0
)
"""The value of any data record of the metadata log."""

RECORDS: Final[Mapping[tuple[int, int], type[MetadataRecord]]] = {
    (0, 0): RegisterBrokerRecordV0,
    (0, 1): RegisterBrokerRecordV1,
    (0, 2): RegisterBrokerRecordV2,
    (0, 3): RegisterBrokerRecordV3,
    (1, 0): UnregisterBrokerRecordV0,
    (2, 0): TopicRecordV0,
    (3, 0): PartitionRecordV0,
    (3, 1): PartitionRecordV1,
    (3, 2): PartitionRecordV2,
    (4, 0): ConfigRecordV0,
    (5, 0): PartitionChangeRecordV0,
    (5, 1): PartitionChangeRecordV1,
    (5, 2): PartitionChangeRecordV2,
    (7, 0): FenceBrokerRecordV0,
    (8, 0): UnfenceBrokerRecordV0,
    (9, 0): RemoveTopicRecordV0,
    (10, 0): DelegationTokenRecordV0,
    (11, 0): UserScramCredentialRecordV0,
    (12, 0): FeatureLevelRecordV0,
    (14, 0): ClientQuotaRecordV0,
    (15, 0): ProducerIdsRecordV0,
    (17, 0): BrokerRegistrationChangeRecordV0,
    (17, 1): BrokerRegistrationChangeRecordV1,
    (17, 2): BrokerRegistrationChangeRecordV2,
    (18, 0): AccessControlEntryRecordV0,
    (19, 0): RemoveAccessControlEntryRecordV0,
    (20, 0): NoOpRecordV0,
    (21, 0): ZkMigrationStateRecordV0,
    (22, 0): RemoveUserScramCredentialRecordV0,
    (23, 0): BeginTransactionRecordV0,
    (24, 0): EndTransactionRecordV0,
    (25, 0): AbortTransactionRecordV0,
    (26, 0): RemoveDelegationTokenRecordV0,
    (27, 0): RegisterControllerRecordV0,
}
"""Every record class by (api key, version)."""
