"""A lab with an authorizer: the rights of its users."""

from collections.abc import Iterable
from typing import Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it exports them
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

AUTHORIZED: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""The properties of every member; the lab itself is ANONYMOUS."""
CLUSTER: Final = ResourceType.BROKER
"""AdminClient's name of the resource CLUSTER."""
CLUSTER_NAME: Final = "kafka-cluster"


def grant(
    bootstrap: str,
    user: str,
    rights: Iterable[str],
    kind: ResourceType = CLUSTER,
    name: str = CLUSTER_NAME,
) -> None:
    """Allow a user these operations on one resource."""
    wanted = [
        AclBinding(
            kind,
            name,
            ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            AclOperation[right],
            AclPermissionType.ALLOW,
        )
        for right in rights
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap})  # its answers end with it
    for each in admin.create_acls(wanted).values():
        each.result()


def withdraw(bootstrap: str, user: str, kind: ResourceType, name: str) -> None:
    """Delete all rights of a user on one resource."""
    which = AclBindingFilter(
        kind,
        name,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for each in admin.delete_acls([which]).values():
        each.result()
